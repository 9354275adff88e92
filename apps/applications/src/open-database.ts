import { createDatabaseAdapter } from '@assistance/service-kit';
import { PrismaClient } from './generated/prisma/client.ts';

export const openDatabase = (options: { url: string; poolSize: number }): PrismaClient =>
  new PrismaClient({ adapter: createDatabaseAdapter({ ...options, applicationName: 'applications' }) });
