/**
 * All that the kit needs of a database: raw SQL with numbered parameters. A Prisma client fits as it is, so the kit
 * never imports a generated one.
 */
export interface Sql {
  $queryRawUnsafe<T = unknown>(sql: string, ...parameters: unknown[]): PromiseLike<T>;
  $executeRawUnsafe(sql: string, ...parameters: unknown[]): PromiseLike<number>;
}
