import { PrismaPg } from '@prisma/adapter-pg';
import { poolConfig, statementName, type DatabaseOptions } from './pool-config.ts';

/** The driver adapter of a service's Prisma client: prepared statements by name, and a deadline on everything. */
export const createDatabaseAdapter = (options: DatabaseOptions): PrismaPg =>
  new PrismaPg(poolConfig(options), { statementNameGenerator: ({ sql }) => statementName(sql) });
