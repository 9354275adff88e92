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

/** Drawn from the rows of subscriptions.md, deliveries.md and sandbox.md with `seededRandom(6)`. */
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
