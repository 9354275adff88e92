import type { Route, Sql } from '@assistance/service-kit';

export interface RouteDependencies {
  sql: Sql;
}

export function routes(_deps: RouteDependencies): Route[] {
  return [];
}
