import { createDatabaseAdapter } from '@assistance/service-kit';
import { PrismaClient } from './generated/prisma/client.ts';

/** The dispatcher's own database. */
export const openDatabase = (options: { url: string; poolSize: number }): PrismaClient =>
  new PrismaClient({ adapter: createDatabaseAdapter({ ...options, applicationName: 'webhook-dispatcher' }) });
