import { createSecretKey, randomBytes } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import type { AddressInfo } from 'node:net';
import {
  createCursorCodec,
  createHttpServer,
  createKeyRing,
  createLogger,
  createMetrics,
  createTokenVerifier,
  descriptionOf,
  migrate,
  PollLoop,
} from '@assistance/service-kit';
import {
  createAnswerCheck,
  createTestDatabase,
  createTestIssuer,
  type TestIssuer,
} from '@assistance/test-kit';
import got, { type Got, type Response } from 'got';
import { createApp, type AppDeps } from '../../src/app.ts';
import { takeCaseMessages } from '../../src/cases/take-case-message.ts';
import { createDecidingMetrics } from '../../src/deciding/deciding-metrics.ts';
import { decideDue } from '../../src/deciding/decide-due.ts';
import type { PrismaClient } from '../../src/generated/prisma/client.ts';
import { openDatabase, openHotPath } from '../../src/open-database.ts';
import { description } from '../../src/operations.ts';
import { loadPrograms } from '../../src/programs/load-programs.ts';
import { publishPrograms } from '../../src/programs/publish-programs.ts';
import { createPublishedPrograms } from '../../src/programs/published-programs.ts';
import { routes } from '../../src/routes.ts';
import { createTakeTurns } from '../../src/submission/take-turns.ts';

const migrations = fileURLToPath(new URL('../../prisma/migrations', import.meta.url));
export const programsFolder = fileURLToPath(new URL('../../programs', import.meta.url));

export const keyRingConfig = { current: 'k1', keys: { k1: randomBytes(32).toString('base64') } };

export interface Instance {
  prisma: PrismaClient;
  deps: AppDeps;
  baseUrl: string;
  /** One turn of the deciding loop, by hand. */
  decideOnce: () => Promise<boolean>;
  deciding: PollLoop;
  takeCaseMessages: ReturnType<typeof takeCaseMessages>;
  stop: () => Promise<void>;
}

export interface Service extends Instance {
  issuer: TestIssuer;
  databaseUrl: string;
  /** A second instance on the same database, perhaps by another way to it. */
  startInstance: (overrides?: Partial<AppDeps>, databaseUrl?: string) => Promise<Instance>;
  /** `<issuer>#<clientId>` */
  ownerOf: (clientId: string) => string;
}

/** The real app on a real port over a database of its own. The deciding loop runs unless a test turns it by hand. */
export async function startService({
  decide = true,
  overrides = () => ({}),
}: {
  decide?: boolean;
  overrides?: (issuer: TestIssuer) => Partial<AppDeps>;
} = {}): Promise<Service> {
  const database = await createTestDatabase({
    template: 'applications',
    migrate: (url) => migrate(url, migrations),
  });
  const issuer = await createTestIssuer();
  const keys = { fingerprintKey: randomBytes(32), cursorKey: randomBytes(32) };
  const startInstance = (extra: Partial<AppDeps> = {}, url = database.url): Promise<Instance> =>
    start({ url, issuer, keys, decide, overrides: { ...overrides(issuer), ...extra } });
  const instances = new Set<Instance>();
  const first = await startInstance();
  return {
    ...first,
    issuer,
    databaseUrl: database.url,
    ownerOf: (clientId) => `${issuer.issuer}#${clientId}`,
    startInstance: async (extra, url) => {
      const instance = await startInstance(extra, url);
      instances.add(instance);
      const stop = async (): Promise<void> => {
        instances.delete(instance);
        await instance.stop();
      };
      return { ...instance, stop };
    },
    stop: async () => {
      await Promise.all([first, ...instances].map((instance) => instance.stop()));
      await issuer.close();
      await database.drop();
    },
  };
}

async function start({
  url,
  issuer,
  keys,
  decide,
  overrides,
}: {
  url: string;
  issuer: TestIssuer;
  keys: { fingerprintKey: Buffer; cursorKey: Buffer };
  decide: boolean;
  overrides: Partial<AppDeps>;
}): Promise<Instance> {
  const log = createLogger({ service: 'applications', level: process.env['TEST_LOG_LEVEL'] ?? 'silent' });
  const metrics = createMetrics('applications');
  const decidingMetrics = createDecidingMetrics(metrics.registry);
  const prisma = openDatabase({ url, poolSize: 10 });
  const sql = openHotPath({ url, poolSize: 10 });
  // jest cannot load a module twice at once, and the client loads its query compiler on first use.
  await prisma.$connect();
  const programs = overrides.programs ?? (await loadPrograms(programsFolder, ['agency', 'sandbox']));
  await publishPrograms(prisma, programs.files);
  const published = createPublishedPrograms({ catalogue: programs, sql: prisma });
  const keyRing = overrides.keyRing ?? createKeyRing(keyRingConfig);
  const decideOnce = (): Promise<boolean> =>
    decideDue({ sql, published, keyRing, metrics: decidingMetrics, log, onDecided: () => undefined });
  const deciding = new PollLoop({ name: 'deciding', intervalMs: 50, log, turn: decideOnce });
  const deps: AppDeps = {
    prisma,
    sql,
    programs,
    published,
    keyRing,
    fingerprintKeys: { id: 'i1', key: createSecretKey(keys.fingerprintKey), previous: {} },
    takeTurns: createTakeTurns({ timeoutMs: 5_000 }),
    cursors: createCursorCodec(keys.cursorKey),
    visibility: {
      partners: new Set([`${issuer.issuer}#other-partner`]),
      operators: new Set([`${issuer.issuer}#operator`]),
    },
    verifier: createTokenVerifier({
      issuers: [{ issuer: issuer.issuer, jwksUri: issuer.jwksUri, acceptedTyp: ['at+jwt'] }],
      audience: issuer.audience,
    }),
    rateLimitPerSecond: 100_000,
    applicantRefPattern: undefined,
    onSubmitted: () => deciding.wake(),
    onWithdrawn: () => undefined,
    log,
    metrics,
    ...overrides,
  };
  const server = createHttpServer(createApp(deps));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  if (decide) deciding.start();
  return {
    prisma,
    deps,
    baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}/applications/v1`,
    decideOnce,
    deciding,
    takeCaseMessages: takeCaseMessages({
      sql: prisma,
      metrics: decidingMetrics,
      log,
      onChanged: () => deciding.wake(),
    }),
    stop: async () => {
      await deciding.stop();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
      await prisma.$disconnect();
      await sql.close();
    },
  };
}

export type JsonResponse = Response<Record<string, any>>;

/** Every answer to a caller is checked against the OpenAPI document; a fault fails the call. */
export const answerCheck = createAnswerCheck(descriptionOf(description, routes({} as AppDeps)));

function failUnlessAsDescribed(response: Response): Response {
  const { method } = response.request.options;
  const path = new URL(response.requestUrl).pathname.replace(description.basePath, '');
  const { statusCode: status, body, headers } = response;
  const faults = answerCheck.faultsOf(method, path, { status, contentType: headers['content-type'], body });
  if (faults.length > 0) throw new Error(`Not as described:\n${faults.join('\n')}`);
  return response;
}

/** A caller with a token of its own; answers of any status are answers, not exceptions. */
export function clientOf(
  { baseUrl, issuer }: { baseUrl: string; issuer: TestIssuer },
  { clientId = 'partner', scopes = ['applications:read', 'applications:write'] } = {},
): Got {
  return got.extend({
    prefixUrl: baseUrl,
    headers: { authorization: `Bearer ${issuer.token({ clientId, scopes })}` },
    responseType: 'json',
    throwHttpErrors: false,
    retry: { limit: 0 },
    timeout: { request: 10_000 },
    hooks: { afterResponse: [failUnlessAsDescribed] },
  });
}
