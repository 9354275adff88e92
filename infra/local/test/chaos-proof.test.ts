import { expect, test } from '@jest/globals';
import type { DisturbanceLine, ReceptionLine } from '../src/chaos/ledger/ledger-lines.ts';
import { expectedEvents } from '../src/chaos/proof/expected-events.ts';
import { explainDuplicates } from '../src/chaos/proof/explain-duplicates.ts';
import { proveApplications } from '../src/chaos/proof/prove-applications.ts';
import { auditClaim } from '../src/chaos/proof/prove-audit.ts';
import { proveDeliveries } from '../src/chaos/proof/prove-deliveries.ts';
import { proveReplays, type ListedReplay } from '../src/chaos/proof/prove-replays.ts';
import type { Submission } from '../src/chaos/proof/read-ledger.ts';

const type = 'document.available';
const ids = ['d1', 'd2', 'd3'];
const expected = new Map(ids.map((id) => [`${type} ${id}`, { type, digest: `bytes of ${id}` }]));

const reception = (id: string, changes: Partial<ReceptionLine> = {}): ReceptionLine => ({
  ...{ at: 1_000, status: 204, id, type, subject: 'DOC-1', digest: `bytes of ${id}`, signed: true },
  ...{ time: 500, replayId: null },
  data: { sequence: Number(id.slice(1)) },
  ...changes,
});

function brokenBy(receptions: ReceptionLine[]): string[] {
  const claims = proveDeliveries({
    ...{ name: 's', eventTypes: [type], ordering: 'subject' as const },
    ...{ expected, receptions, records: new Map() },
  });
  return claims.filter(({ holds }) => !holds).map(({ claim }) => claim);
}

const all = ids.map((id) => reception(id));
const atLeastOnce = 's: each matched event received at least once';
const nothingElse = 's: nothing but matched events, each under one id';
const bytes = 's: byte for byte, and signed';
const inOrder = 's: in order per subject';

test('the proof of deliveries holds for what was received once, refused before, or received again', () => {
  expect(brokenBy([reception('d1', { status: 500 }), ...all, reception('d1')])).toEqual([]);
});

test('the proof of deliveries breaks on a loss, a refusal that was never made good, and a foreign event', () => {
  expect(brokenBy(all.slice(0, 2))).toEqual([atLeastOnce]);
  expect(brokenBy([...all.slice(0, 2), reception('d3', { status: 500 })])).toEqual([atLeastOnce]);
  expect(brokenBy([...all, reception('d4', { digest: 'unknown' })])).toEqual([nothingElse, bytes]);
});

test('the proof of deliveries breaks on changed bytes, a wrong signature and a wrong order', () => {
  expect(brokenBy([...all, reception('d1', { digest: 'changed' })])).toEqual([bytes]);
  expect(brokenBy([...all, reception('d1', { signed: false })])).toEqual([bytes]);
  expect(brokenBy([all[1]!, all[0]!, all[2]!])).toEqual([inOrder]);
});

const submission = (changes: Partial<Submission> = {}): Submission => ({
  ...{ program: 'CHAOS-AID', applicantRef: 'a', applicationIds: new Set(['app_1']), refusals: [] },
  ...changes,
});
const listed = { applicationId: 'app_1', applicantRef: 'a', status: 'awarded' };

test.each([
  ['nothing', submission(), [listed], []],
  ['a lost application', submission(), [], ['exists', 'decided']],
  ['a doubled one', submission(), [listed, { ...listed, applicationId: 'app_2' }], ['one application']],
  [
    'two ids for a key',
    submission({ applicationIds: new Set(['app_1', 'app_2']) }),
    [listed],
    ['exists', 'one'],
  ],
  ['an undecided one', submission(), [{ ...listed, status: 'validating' }], ['decided']],
  ['a refusal', submission({ refusals: ['422 program_unknown'] }), [listed], ['answered with 201']],
])('the proof of applications breaks on %s as it should', (_what, made, found, broken) => {
  const claims = proveApplications(new Map([['key', made]]), found).filter(({ holds }) => !holds);
  expect(claims).toHaveLength(broken.length);
  for (const [index, words] of broken.entries()) expect(claims[index]!.claim).toContain(words);
});

test.each([
  ['holds when all rows of all applications are sealed', 0, 40, 0, true],
  ['breaks when the command ends with 1', 1, 40, 0, false],
  ['breaks when rows wait for their seal', 0, 38, 2, false],
  ['breaks when there are fewer rows than applications', 0, 9, 0, false],
])('the proof of the audit %s', (_claim, code, rows, unsealed, holds) => {
  const said = `${rows} rows hold, the last of them with the seal 40:0f.\n${unsealed} rows wait for their seal, the oldest for 0.0 s.\n`;
  expect(auditClaim({ code, output: said }, 10).holds).toBe(holds);
  expect(auditClaim({ code, output: 'It could not be asked.' }, 10).holds).toBe(false);
});

test('an accepted application makes the events of its program expected, an unacknowledged event is not', () => {
  const unacknowledged = { type, subject: 'DOC-1', sequence: 1, digest: '', acknowledged: false };
  const events = expectedEvents({
    submissions: new Map([['key', submission()]]),
    published: new Map([['d1', unacknowledged]]),
    receptions: new Map(),
    replays: new Map(),
    disturbances: [],
  });
  expect([...events.keys()]).toEqual([
    'application.decided app_1 eligible',
    'application.decided app_1 awarded',
    'case.status_changed app_1 opened',
    'case.status_changed app_1 awarded',
  ]);
});

const killed = (target: string, startedAt: number): DisturbanceLine => ({
  ...{ n: 1, target, kind: 'kill', durationMs: 0, startedAt, endedAt: startedAt, readyAt: startedAt + 5_000 },
  inFlight: { submissions: 0, questions: 0, publishes: 0, deliveries: 0 },
  hit: 0,
});

test('a duplicate is explained by the death of the dispatcher just after its first reception, and by nothing else', () => {
  const twice = [[reception('d1', { at: 10_000 }), reception('d1', { at: 21_000 })]];
  const unexplained = (disturbance: DisturbanceLine) => explainDuplicates(twice, [disturbance]).unexplained;
  expect(unexplained(killed('webhook-dispatcher-2', 10_500))).toEqual([]);
  expect(unexplained(killed('postgres', 10_500))).toEqual([]);
  expect(unexplained(killed('webhook-dispatcher', 20_000))).toEqual(['d1']);
  expect(unexplained(killed('kafka', 10_500))).toEqual(['d1']);
});

test('what was in flight when a dispatcher froze may come again when it wakes: as much as may be in flight, not later', () => {
  const frozen: DisturbanceLine = {
    ...killed('webhook-dispatcher', 10_000),
    ...{ kind: 'freeze', durationMs: 13_000, endedAt: 23_000 },
  };
  const tookOver = 18_000;
  const comeAgain = (count: number, at: number): ReceptionLine[][] => {
    const many = Array.from({ length: count }, (_, n) => `d${n}`);
    return [[tookOver, at].flatMap((each) => many.map((id) => reception(id, { at: each })))];
  };
  const unexplained = (count: number, at: number) =>
    explainDuplicates(comeAgain(count, at), [frozen]).unexplained.length;
  expect(unexplained(8, 23_010)).toBe(0);
  expect(unexplained(9, 23_010)).toBe(1);
  expect(unexplained(1, 26_000)).toBe(1);
  expect(unexplained(1, 20_000)).toBe(1);
});

test('a duplicate is explained by a break of the run just after its first reception, and only then', () => {
  const twice = [[reception('d1', { at: 100_000 }), reception('d1', { at: 190_000 })]];
  expect(explainDuplicates(twice, [], [180_000]).unexplained).toEqual([]);
  const later = [[...twice[0]!.slice(0, 1), reception('d2', { at: 140_000 }), ...twice[0]!.slice(1)]];
  expect(explainDuplicates(later, [], [180_000]).unexplained).toEqual(['d1']);
});

test('what comes in a replay is no duplicate of what came before, but what comes twice in one replay is', () => {
  const again = (at: number) => reception('d1', { at, replayId: 'rep_1' });
  expect(explainDuplicates([[reception('d1'), again(5_000)]], []).total).toBe(0);
  expect(explainDuplicates([[reception('d1'), again(5_000), again(9_000)]], []).unexplained).toEqual(['d1']);
});

const replay = (changes: Partial<ListedReplay> = {}): ListedReplay => ({
  ...{ replayId: 'rep_1', mode: 'all', status: 'completed', since: new Date(500).toISOString() },
  ...{ requestedAt: new Date(2_000).toISOString(), progress: { matched: 3, delivered: 3 } },
  ...changes,
});
const inReplay = ids.map((id) => reception(id, { at: 3_000, replayId: 'rep_1' }));
const twoOf = [...all, ...inReplay.slice(0, 2)];
const two = { progress: { matched: 2, delivered: 2 } };

test.each([
  ['nothing', replay(), [0, 2, 3], [...all, ...inReplay], []],
  ['one that is not there', undefined, [], all, ['completed']],
  ['one that goes on', replay({ status: 'running' }), [3], [...all, ...inReplay], ['completed']],
  [
    'one that left something',
    replay({ progress: { matched: 4, delivered: 3 } }),
    [],
    [...all, ...inReplay],
    ['completed'],
  ],
  ['progress that went back', replay(), [2, 1, 3], [...all, ...inReplay], ['goes back']],
  ['progress that went back at the end', replay(), [4], [...all, ...inReplay], ['goes back']],
  ['an event that did not come again', replay(two), [], twoOf, ['brings again']],
  ['a wrong count', replay(), [], twoOf, ['brings again', 'counts']],
  ['an event that a replay of what failed did not need', replay({ mode: 'failed', ...two }), [], twoOf, []],
  ['a count of what was not received', replay({ mode: 'failed' }), [], twoOf, ['counts']],
  [
    'an event from before its time',
    replay({ since: new Date(501).toISOString() }),
    [],
    [...all, ...inReplay],
    ['before'],
  ],
])('the proof of replays breaks on %s as it should', (_what, listed, delivered, receptions, broken) => {
  const claims = proveReplays({
    ...{ name: 's', receptions, listed: listed === undefined ? [] : [listed] },
    watched: new Map([['rep_1', { subscriber: 's', delivered }]]),
  }).filter(({ holds }) => !holds);
  expect(claims).toHaveLength(broken.length);
  for (const [index, words] of broken.entries()) expect(claims[index]!.claim).toContain(words);
});
