import { createDatabaseAdapter } from '@assistance/service-kit';
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

/** The dispatcher's own database. */
export const openDatabase = (options: { url: string; poolSize: number }): PrismaClient =>
  new PrismaClient({
    adapter: createDatabaseAdapter({
      ...options,
      applicationName: 'webhook-dispatcher',
      settings: downTheIndexes,
    }),
  });
