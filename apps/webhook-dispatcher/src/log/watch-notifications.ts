import pg from 'pg';
import type { Logger, Part } from '@assistance/service-kit';

const RECONNECT_MS = 1_000;

/**
 * Listens for what other instances commit: `log` (events were appended) and `lane_command`. Only a wake-up: whoever
 * misses one finds the work by polling.
 */
export function createNotificationWatch(options: {
  databaseUrl: string;
  onNotification: (channel: string) => void;
  log: Logger;
}): Part {
  const { databaseUrl, onNotification, log } = options;
  let client: pg.Client | undefined;
  let timer: NodeJS.Timeout | undefined;
  let stopped = false;

  const connect = async (): Promise<void> => {
    const fresh = new pg.Client({
      connectionString: databaseUrl,
      application_name: 'webhook-dispatcher notifications',
      keepAlive: true,
      connectionTimeoutMillis: 3_000,
    });
    client = fresh;
    const reconnect = (error?: Error): void => {
      if (client !== fresh || stopped) return;
      client = undefined;
      fresh.end().catch(() => undefined);
      log.warn({ err: error }, 'notifications.disconnected');
      timer = setTimeout(() => void connect(), RECONNECT_MS);
    };
    fresh.on('error', reconnect);
    fresh.on('end', () => reconnect());
    fresh.on('notification', ({ channel }) => onNotification(channel));
    try {
      await fresh.connect();
      await fresh.query('listen log; listen lane_command');
      onNotification('log');
    } catch (error) {
      reconnect(error as Error);
    }
  };

  return {
    name: 'notification-watch',
    start: () => void connect(),
    stop: async () => {
      stopped = true;
      clearTimeout(timer);
      await client?.end().catch(() => undefined);
    },
  };
}
