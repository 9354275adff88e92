import { createDatabaseAdapter, createPlainSql, type Sql } from '@assistance/service-kit';
import { PrismaClient } from './generated/prisma/client.ts';

/**
 * Every statement here goes down an index in its order and stops early, which is right whatever the tables hold. Day
 * partitions are too fresh to have statistics; left to guess, the planner sorts whole days for a page of fifty.
 */
const downTheIndexes = {
  enable_bitmapscan: 'off',
  enable_hashjoin: 'off',
  enable_mergejoin: 'off',
  enable_seqscan: 'off',
  enable_sort: 'off',
  jit: 'off',
};

const APPLICATION_NAME = 'webhook-dispatcher';

/** The dispatcher's own database. */
export const openDatabase = (options: { url: string; poolSize: number }): PrismaClient =>
  new PrismaClient({
    adapter: createDatabaseAdapter({
      ...options,
      applicationName: APPLICATION_NAME,
      settings: downTheIndexes,
    }),
  });

/**
 * The same for what each event and each delivery goes through: see docs/decisions/0013. These statements have one right
 * plan, and to plan them anew each time takes longer than to execute them.
 */
export const openHotPath = (options: { url: string; poolSize: number }): Sql & { close(): Promise<void> } =>
  createPlainSql({
    ...options,
    applicationName: APPLICATION_NAME,
    settings: { ...downTheIndexes, plan_cache_mode: 'force_generic_plan' },
  });
