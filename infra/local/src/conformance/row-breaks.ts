import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { readTable, type Row } from './read-table.ts';

/** One way to break what a sentence of docs/conformance promises. */
interface RowBreak {
  sentence: string;
  file: string;
  find: string;
  replace: string;
  /** The test, of those that the row names, that must notice. */
  test: string;
  /** It looks at what the tests before it in its file have done. */
  needsWholeFile?: boolean;
}

/**
 * The first ten are drawn from the rows of subscriptions.md, deliveries.md and sandbox.md with `seededRandom(6)`, the
 * others from those of every-interface.md, applications.md and specification.md with `seededRandom(7)`.
 */
const drawn: RowBreak[] = [
  {
    sentence: 'An address that is not public is not called, however it is spelt.',
    file: 'packages/public-address/src/judge-address.ts',
    find: `if (address.range() !== 'unicast') return false;`,
    replace: `if (address.range() === 'private') return false;`,
    test: 'packages/public-address/test/judge-address.test.ts › under the public rules › %j is blocked',
  },
  {
    sentence: '`eventTypes` names one known type or more.',
    file: 'packages/types/src/subscription.ts',
    find: `.min(1, { error: 'must name at least one event type' })`,
    replace: '',
    test: 'apps/subscriptions/test/create-subscription.test.ts › a body that is not as it should be is 400 and makes nothing: › %s',
  },
  {
    sentence: '`POST …/retry` is 202: one attempt now.',
    file: 'apps/webhook-dispatcher/src/lanes/lane-owner.ts',
    find: 'subscription.forced.push(job);',
    replace: '',
    test: 'apps/webhook-dispatcher/test/retry-delivery.test.ts › a dead delivery stays dead when its retry fails, and is delivered when it succeeds',
  },
  {
    sentence:
      'The event is a `subscription.test` with the subscription and the time of asking, for this subscription alone, and in no reconciliation.',
    file: 'apps/webhook-dispatcher/src/delivery-log/count-deliveries.ts',
    find: 'where e.only_lane = $1::bigint and e.seq >= s.from_seq',
    replace: 'where false and e.seq >= s.from_seq',
    test: 'apps/webhook-dispatcher/test/list-deliveries.test.ts › a test event says what it is, to its subscription alone, and is in no reconciliation',
  },
  {
    sentence: 'Answers without end (headers, trailers, interim answers, a gzip bomb) cost nothing.',
    file: 'apps/webhook-dispatcher/src/sending/send-webhook.ts',
    find: 'if (this.bytes < MAX_BODY_BYTES || this.ended) return;',
    replace: 'if (this.bytes < Infinity || this.ended) return;',
    test: 'apps/webhook-dispatcher/test/faulty-receivers.test.ts › none of them makes it hold more in memory, or read more than is looked at',
    needsWholeFile: true,
  },
  {
    sentence: 'The signing secret is shown once.',
    file: 'apps/subscriptions/src/subscriptions/subscription-of-row.ts',
    find: 'version: row.version,',
    replace: `version: row.version, ...{ signingSecret: 'whsec_' },`,
    test: 'apps/subscriptions/test/create-subscription.test.ts › shows the secret this once: no other answer has it',
  },
  {
    sentence: 'Doubled types are dropped, and the rest kept in the order of the catalogue.',
    file: 'packages/types/src/subscription.ts',
    find: 'eventTypeNames.filter((t) => types.includes(t))',
    replace: 'types.filter((t) => eventTypeNames.includes(t))',
    test: 'apps/subscriptions/test/create-subscription.test.ts › drops doubles among the event types and keeps the order of the catalogue',
  },
  {
    sentence: 'Expired ones are refused.',
    file: 'packages/service-kit/src/auth/token-verifier.ts',
    find: 'return jwt.verify(token, key, {',
    replace: 'return jwt.verify(token, key, { ignoreExpiration: true,',
    test: 'apps/sandbox/test/tokens.test.ts › an expired one is refused by the sandbox itself',
  },
  {
    sentence: 'The gateway gives requests to them in turn.',
    file: 'apps/sandbox/src/gateway/forward-to-service.ts',
    find: 'turn++ % instances.length',
    replace: 'turn % instances.length',
    test: 'apps/sandbox/test/gateway.test.ts › a request › goes to the instances in turn',
  },
  {
    sentence: 'Nothing more is sent.',
    file: 'apps/webhook-dispatcher/src/lanes/lane-owner.ts',
    find: 'if (known !== undefined) this.remove(known);\n      return true;',
    replace: 'return true;',
    test: 'apps/webhook-dispatcher/test/deliver-events.test.ts › a deleted subscription gets nothing more',
  },
  {
    sentence: 'Also what HTTP itself refuses, also in the gateway.',
    file: 'packages/service-kit/src/http/http-server.ts',
    find: 'refuseOnSocket(socket, errorOfParser(error));',
    replace: 'socket.destroy();',
    test: 'apps/sandbox/test/gateway.test.ts › what HTTP itself refuses › %s: the error body, and no request to the service',
  },
  {
    sentence: 'Path, method, token, scope, media type, JSON, headers, query, body, then the verb.',
    file: 'packages/service-kit/src/http/mount-routes.ts',
    find: 'route.checkHeaders?.(header);\n    const query = readQuery(route, request);',
    replace: 'const query = readQuery(route, request);\n    route.checkHeaders?.(header);',
    test: 'packages/service-kit/test/order-of-checks.test.ts › checks come in this order: path, method, token, scope, media type, JSON, headers, query, body, verb',
  },
  {
    sentence: '409: POST /applications, duplicate or stale version.',
    file: 'apps/applications/src/submit-application.ts',
    find: `openKey: duplicatePolicy === 'one_open' ? openKeyOf(body) : null`,
    replace: 'openKey: null',
    test: 'apps/applications/test/submit-application.test.ts › 409 › duplicate_application for a second open one, named only to the owner of the first',
  },
  {
    sentence: 'What does not permit it is 422 `withdrawal_not_permitted`.',
    file: 'apps/applications/src/withdraw-application.ts',
    find: 'permittedFrom.some((from) => from === status)',
    replace: 'permittedFrom.length > 0',
    test: 'apps/applications/test/withdraw-application.test.ts › 422 › withdrawal_not_permitted when %s',
  },
  {
    sentence: 'They list only what they submitted.',
    file: 'apps/applications/src/list-applications.ts',
    find: 'owner: confinedOwner(visibility, caller)',
    replace: 'owner: null',
    test: 'apps/applications/test/list-applications.test.ts › 200 › a partner client sees only what it submitted, whatever it filters',
  },
  {
    sentence: 'An owner is issuer and client id: a namesake of another issuer is another client.',
    file: 'packages/service-kit/src/auth/token-verifier.ts',
    find: 'owner: `${config.issuer}#${clientId}`',
    replace: 'owner: clientId',
    test: 'apps/subscriptions/test/list-subscriptions.test.ts › a client of another issuer with the same name is another client',
  },
  {
    sentence: 'Without one it is 400 `idempotency_key_required`.',
    file: 'apps/applications/src/submission/idempotency-key.ts',
    find: `'idempotency_key_required',`,
    replace: `'idempotency_key_invalid',`,
    test: 'apps/applications/test/submit-application.test.ts › 400 › idempotency_key_required without a key, before the faults of the body',
  },
  {
    sentence: 'Lengths are counted in code points.',
    file: 'packages/types/src/application.ts',
    find: '.max(128, {',
    replace: '.refine((text) => text.length <= 128, {',
    test: 'packages/types/test/contracts.test.ts › a submission › counts code points, not UTF-16 units',
  },
  {
    sentence: 'The same key with another body is 409 `idempotency_key_reused`.',
    file: 'apps/applications/src/submission/fingerprint.ts',
    find: '([, value]) => value !== null',
    replace: `([name, value]) => name !== 'channel' && value !== null`,
    test: 'apps/applications/test/idempotency.test.ts › 409 idempotency_key_reused › for the same key with %s',
  },
  {
    sentence: 'History is oldest first, each status with when and why.',
    file: 'apps/applications/src/read-history.ts',
    find: 'at: at.toISOString(),',
    replace: 'at: new Date().toISOString(),',
    test: 'apps/applications/test/read-history.test.ts › shows each status with its time and its reason, oldest first',
  },
];

/** The breaks with the rows that they belong to. Throws when the tables no longer have such a row. */
export function rowBreaks(root: string): (RowBreak & { row: Row })[] {
  const folder = join(root, 'docs', 'conformance');
  const rows = readdirSync(folder)
    .filter((name) => name.endsWith('.md'))
    .flatMap((name) => readTable(readFileSync(join(folder, name), 'utf8')).rows);
  return drawn.map((each) => {
    const row = rows.find(({ sentence, tests }) => sentence === each.sentence && tests.includes(each.test));
    if (row === undefined) throw new Error(`No row says "${each.sentence}" and names ${each.test}`);
    return { ...each, row };
  });
}
