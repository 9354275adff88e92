import type { CursorCodec, Sql } from '@assistance/service-kit';

/** What the verbs of the delivery log are given beside the request. */
export interface LogDependencies {
  sql: Sql;
  cursors: CursorCodec;
  /** Owners that may read across owners; each such read is audited. */
  operators: ReadonlySet<string>;
  /** How many deliveries of one lane are under way at once. */
  laneConcurrency: number;
  retentionDays: number;
}
