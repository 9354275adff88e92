import { describe, expect, test } from '@jest/globals';
import type { SealedSecret } from '@assistance/types';
import { replaySince } from '../src/replays/replay-since.ts';
import { shownStatus } from '../src/subscriptions/shown-status.ts';
import { addSecret, liveSecrets } from '../src/subscriptions/signing-secrets.ts';

const now = new Date('2026-03-10T12:00:00.000Z');
const after = (ms: number) => new Date(now.getTime() + ms);
const DAY = 86_400_000;

describe('replaySince', () => {
  test.each<[string, string | null | undefined, Date | undefined]>([
    ['nothing is 7 days ago', undefined, after(-7 * DAY)],
    ['null is nothing', null, after(-7 * DAY)],
    ['earlier than 7 days ago is 7 days ago', '2020-01-01T00:00:00Z', after(-7 * DAY)],
    [
      'a moment of the last 7 days is that moment',
      '2026-03-09T12:00:00.123Z',
      new Date('2026-03-09T12:00:00.123Z'),
    ],
    ['an offset is taken into account', '2026-03-10T13:30:00+02:00', after(-30 * 60_000)],
    ['now is now', now.toISOString(), now],
    ['60 s in the future is now', after(60_000).toISOString(), now],
    ['later is refused', after(60_001).toISOString(), undefined],
    ['what is no time is refused', 'yesterday', undefined],
  ])('%s', (_claim, asked, applied) => {
    expect(replaySince(asked, now)).toEqual(applied);
  });
});

describe('signing secrets', () => {
  const secret = (sealed: string, expiresInMs: number | null): SealedSecret => ({
    sealed,
    createdAt: after(-DAY).toISOString(),
    expiresAt: expiresInMs === null ? null : after(expiresInMs).toISOString(),
  });
  const add = (secrets: SealedSecret[]) => addSecret(secrets, 'new', { now, overlapMs: DAY });

  test('the new one is first and does not expire; the one before it signs for the overlap', () => {
    expect(add([secret('a', null)])).toEqual([
      { sealed: 'new', createdAt: now.toISOString(), expiresAt: null },
      secret('a', DAY),
    ]);
  });
  test('older ones keep the end that they have', () => {
    expect(add([secret('b', null), secret('a', 5_000)])?.slice(1)).toEqual([
      secret('b', DAY),
      secret('a', 5_000),
    ]);
  });
  test('a fourth is refused while three sign', () => {
    expect(add([secret('c', null), secret('b', DAY), secret('a', 1)])).toBeUndefined();
  });
  test('one that has run out makes room, and is forgotten', () => {
    const added = add([secret('c', null), secret('b', DAY), secret('a', 0)]);
    expect(added?.map(({ sealed }) => sealed)).toEqual(['new', 'c', 'b']);
  });
  test('one signs until its end and not at it', () => {
    expect(liveSecrets([secret('a', 1), secret('b', 0), secret('c', -1)], now)).toEqual([secret('a', 1)]);
  });
});

describe('shownStatus', () => {
  const since = after(-DAY);
  const owner = { code: 'owner', since: since.toISOString() };
  const failing = { code: 'failing', since: now.toISOString() };
  const gone = { code: 'gone', since: now.toISOString() };

  test.each([
    ['active until something is judged', 'active', null, null, 'active', null],
    ['active when judged so', 'active', 'active', null, 'active', null],
    ['failing when judged so', 'active', 'failing', failing, 'failing', failing],
    ['paused when the dispatcher paused it', 'active', 'paused', gone, 'paused', gone],
    ['paused by its owner', 'paused', null, null, 'paused', owner],
    ['paused by its owner, whatever was judged', 'paused', 'failing', failing, 'paused', owner],
  ] as const)('%s', (_claim, wish, judgedStatus, judgedReason, status, statusReason) => {
    expect(shownStatus({ wish, wishedAt: since, judgedStatus, judgedReason })).toEqual({
      status,
      statusReason,
    });
  });
});
