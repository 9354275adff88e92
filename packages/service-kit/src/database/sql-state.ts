/** The SQLSTATE behind an error of pg or of Prisma's driver adapter, or undefined. */
export function sqlStateOf(error: unknown): string | undefined {
  for (let current: unknown = error, depth = 0; isObject(current) && depth < 6; depth++) {
    for (const key of ['originalCode', 'code']) {
      const code = current[key];
      if (typeof code === 'string' && /^[0-9A-Z]{5}$/.test(code) && !/^P\d{4}$/.test(code)) return code;
    }
    const meta = current['meta'];
    current = isObject(meta) ? meta['driverAdapterError'] : current['cause'];
  }
  return undefined;
}

/** A row like it is there already. */
export const isUniqueViolation = (error: unknown): boolean => sqlStateOf(error) === '23505';

/** The data itself cannot be stored (class 22, 23): trying again changes nothing. */
export const isDataFault = (error: unknown): boolean => /^2[23]/.test(sqlStateOf(error) ?? '');

/**
 * The database, or the way to it, is away or too busy for the moment, so the same again may pass: connections (class 08),
 * shutdown and recovery (57P0x), a statement or a lock that took too long (57014, 55P03), a transaction that fell silent
 * (25P03), a deadlock or conflict (class 40), too many connections or no space (class 53), read-only after a failover (25006), a system error (class 58), or the driver
 * could not reach it at all.
 */
export function isUnavailable(error: unknown): boolean {
  const state = sqlStateOf(error);
  if (state !== undefined) return /^(08|40|53|57P0|57014|55P03|25P03|25006|58)/.test(state);
  for (let current: unknown = error, depth = 0; isObject(current) && depth < 6; depth++) {
    const { code, message, kind } = current;
    if (
      typeof code === 'string' &&
      /^(P1001|P1002|P1008|P1017|P2024|P2028|ECONN\w+|EPIPE|ETIMEDOUT|ENOTFOUND|EAI_AGAIN)$/.test(code)
    ) {
      return true;
    }
    if (kind === 'DatabaseNotReachable' || kind === 'ConnectionClosed' || kind === 'SocketTimeout')
      return true;
    if (
      typeof message === 'string' &&
      /Connection terminated|is not queryable|timeout exceeded when trying to connect|Query read timeout|Can't reach database/.test(
        message,
      )
    ) {
      return true;
    }
    const meta = current['meta'];
    current = isObject(meta) ? meta['driverAdapterError'] : current['cause'];
  }
  return false;
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null;
