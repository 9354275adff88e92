import { createKafkaProxy } from './create-kafka-proxy.ts';
import { createTcpProxy, type TcpProxy } from './create-tcp-proxy.ts';
import type { TestIssuer } from './create-test-issuer.ts';

export interface Ways {
  database: TcpProxy;
  kafka: TcpProxy;
  issuer: TcpProxy;
  /** What tells a service to go these ways. */
  environment: Record<string, string>;
  close(): Promise<void>;
}

/** The ways of one service to all that it depends on, each to be cut by a test; those named begin cut. */
export async function createWays(options: {
  databaseUrl: string;
  brokers: string[];
  issuer: TestIssuer;
  away?: readonly ('database' | 'kafka' | 'issuer')[];
}): Promise<Ways> {
  const { databaseUrl, brokers, issuer: provider, away = [] } = options;
  const url = new URL(databaseUrl);
  const [database, kafka, issuer] = await Promise.all([
    createTcpProxy({ to: url.host, away: away.includes('database') }),
    createKafkaProxy({ to: brokers[0] ?? '', away: away.includes('kafka') }),
    createTcpProxy({ to: new URL(provider.issuer).host, away: away.includes('issuer') }),
  ]);
  url.host = database.address;
  return {
    database,
    kafka,
    issuer,
    environment: {
      DATABASE_URL: url.toString(),
      KAFKA_BROKERS: kafka.address,
      TOKEN_AUDIENCE: provider.audience,
      TOKEN_ISSUERS: JSON.stringify([
        { issuer: provider.issuer, jwksUri: `http://${issuer.address}${new URL(provider.jwksUri).pathname}` },
      ]),
    },
    close: async () => {
      await Promise.all([database.close(), kafka.close(), issuer.close()]);
    },
  };
}
