import { createDatabaseAdapter, createPlainSql, type Sql } from '@assistance/service-kit';
import { PrismaClient } from './generated/prisma/client.ts';

const applicationName = 'applications';

export const openDatabase = (options: { url: string; poolSize: number }): PrismaClient =>
  new PrismaClient({ adapter: createDatabaseAdapter({ ...options, applicationName }) });

/** The same for what each submission and each decision goes through: see docs/decisions/0013. */
export const openHotPath = (options: { url: string; poolSize: number }): Sql & { close(): Promise<void> } =>
  createPlainSql({ ...options, applicationName });
