import { createHash } from 'node:crypto';
import type { PoolConfig } from 'pg';

export interface DatabaseOptions {
  url: string;
  poolSize: number;
  /** Shown in pg_stat_activity. */
  applicationName: string;
  /** No statement may run longer. */
  statementTimeoutMs?: number;
  /** No statement waits longer for a lock. */
  lockTimeoutMs?: number;
  /** Further settings of each connection, such as what the planner may use. */
  settings?: Record<string, string>;
}

/**
 * Shorter than others wait for a lock: whoever freezes, or is cut off, in the middle of a transaction loses it, and its locks
 * hold up nobody. Between two statements of a transaction lie milliseconds.
 */
const SILENT_TRANSACTION_MS = 3_000;

/** Connections with a deadline on everything. */
export function poolConfig(options: DatabaseOptions): PoolConfig {
  const {
    url,
    poolSize,
    applicationName,
    statementTimeoutMs = 15_000,
    lockTimeoutMs = 5_000,
    settings = {},
  } = options;
  const onServer = {
    statement_timeout: statementTimeoutMs,
    lock_timeout: lockTimeoutMs,
    idle_in_transaction_session_timeout: SILENT_TRANSACTION_MS,
    timezone: 'UTC',
    ...settings,
  };
  return {
    connectionString: url,
    max: poolSize,
    connectionTimeoutMillis: 3_000,
    // The server keeps its own deadlines only while it lives; a frozen one, or a dead way to it, is given up here.
    query_timeout: statementTimeoutMs + 2_000,
    idleTimeoutMillis: 60_000,
    keepAlive: true,
    application_name: applicationName,
    options: serverSettings(onServer),
  };
}

/** As a connection's `options`. */
export const serverSettings = (settings: Record<string, string | number>): string =>
  Object.entries(settings)
    .map(([name, value]) => `-c ${name}=${value}`)
    .join(' ');

const MAX_NAMES = 1_000;
const names = new Map<string, string>();

/** By its name a statement is prepared once for each connection. Remembered: the digest of a long one takes its time. */
export function statementName(sql: string): string {
  const known = names.get(sql);
  if (known !== undefined) return known;
  const name = `s${createHash('sha1').update(sql).digest('hex').slice(0, 16)}`;
  if (names.size < MAX_NAMES) names.set(sql, name);
  return name;
}
