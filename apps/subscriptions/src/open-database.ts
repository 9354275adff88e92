import { createDatabaseAdapter } from '@assistance/service-kit';
import { PrismaClient } from './generated/prisma/client.ts';

/** A transaction may take longer than a wait for a lock (5 s), so that the wait ends it and not the clock. */
const transactionOptions = { maxWait: 3_000, timeout: 12_000 };

export const openDatabase = (options: { url: string; poolSize: number }): PrismaClient =>
  new PrismaClient({
    adapter: createDatabaseAdapter({ ...options, applicationName: 'subscriptions' }),
    transactionOptions,
  });

/** What a verb's transaction is given: the client without what cannot be used inside one. */
export type Transaction = Parameters<Parameters<PrismaClient['$transaction']>[0]>[0];
