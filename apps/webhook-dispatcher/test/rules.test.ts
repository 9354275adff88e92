import { describe, expect, test } from '@jest/globals';
import type { DeliverySettings } from '../src/config.ts';
import { stepAfter } from '../src/lanes/delivery-step.ts';
import { freshJudgement, judgeAfter, type Judgement } from '../src/lanes/judge-subscription.ts';
import { probeDelayMs, retryDelayMs } from '../src/lanes/retry-schedule.ts';
import {
  failedWith,
  outcomeOfResponse,
  readRetryAfter,
  reasonOfError,
} from '../src/sending/attempt-outcome.ts';

const settings: DeliverySettings = {
  retryBaseMs: 10_000,
  retryFactor: 3,
  retryMaxMs: 43_200_000,
  retryMaxAttempts: 14,
  laneConcurrency: 8,
  maxInFlight: 1_000,
  failingAfterAttempts: 5,
  failingAfterMs: 300_000,
  failingRetryMaxMs: 600_000,
  pauseAfterMs: 432_000_000,
};
const success = { kind: 'succeeded', responseStatus: 204, responseBody: null } as const;
const failure = failedWith('http_status', 500);
const minutes = (n: number): number => n * 60_000;

describe('retry schedule', () => {
  test('waits 10 s · 3ⁿ with jitter downwards, never more than 12 h', () => {
    expect(retryDelayMs(1, settings, () => 1)).toBe(10_000);
    expect(retryDelayMs(1, settings, () => 0)).toBe(5_000);
    expect(retryDelayMs(4, settings, () => 1)).toBe(270_000);
    expect(retryDelayMs(14, settings, () => 1)).toBe(43_200_000);
  });

  test('fourteen attempts span about three days', () => {
    const total = Array.from({ length: 13 }, (_, i) => retryDelayMs(i + 1, settings, () => 0.5));
    const days = total.reduce((sum, ms) => sum + ms, 0) / 86_400_000;
    expect(days).toBeGreaterThan(1.5);
    expect(days).toBeLessThan(4);
  });

  test('while failing probes slow down to one in 10 minutes', () => {
    expect(probeDelayMs(1, settings)).toBe(10_000);
    expect(probeDelayMs(9, settings)).toBe(600_000);
  });
});

describe('judgement of a subscription', () => {
  const after = (
    before: Judgement,
    at: number,
    outcome: Parameters<typeof judgeAfter>[1] = failure,
  ): Judgement => judgeAfter(before, outcome, settings, at);
  const failedAt = (...times: number[]): Judgement =>
    times.reduce((j, at) => after(j, at), freshJudgement(1));

  test('five failures within five minutes are not failing yet', () => {
    expect(failedAt(0, 1, 2, 3, minutes(4)).judged).toBe('active');
  });

  test('five failures without a success between, five minutes apart, are failing', () => {
    expect(failedAt(0, 1, 2, 3, minutes(5))).toMatchObject({
      judged: 'failing',
      reason: { code: 'failing', since: minutes(5) },
      holdUntil: minutes(5) + 10_000,
    });
  });

  test('a success between begins the count anew', () => {
    const broken = after(failedAt(0, 1, 2, 3), 4, success);
    expect(after(broken, minutes(6)).judged).toBe('active');
  });

  test('the first success while failing makes it active, and what waits is due at once', () => {
    const failing = failedAt(0, 1, 2, 3, minutes(5));
    expect(after(failing, minutes(6), success)).toEqual({ ...freshJudgement(1), revivedAt: minutes(6) });
  });

  test('five days without a success pause it', () => {
    const failing = failedAt(0, 1, 2, 3, minutes(5));
    expect(after(failing, 432_000_000)).toMatchObject({
      judged: 'paused',
      reason: { code: 'failing_too_long' },
    });
  });

  test('410 pauses it at once', () => {
    expect(after(freshJudgement(1), 9, failedWith('http_status', 410))).toMatchObject({
      judged: 'paused',
      reason: { code: 'gone', since: 9 },
    });
  });

  test('Retry-After holds the lane, a shorter one does not shorten it', () => {
    const asked = (retryAfterMs: number) => ({ ...failure, retryAfterMs }) as typeof failure;
    const held = after(freshJudgement(1), 0, asked(60_000));
    expect(held.holdUntil).toBe(60_000);
    expect(after(held, 1, asked(1_000)).holdUntil).toBe(60_000);
  });
});

describe('what becomes of a delivery', () => {
  const active = freshJudgement(1);
  const failing: Judgement = { ...active, judged: 'failing' };
  const step = (
    tried: Parameters<typeof stepAfter>[0],
    outcome: typeof failure | typeof success,
    judged = active,
  ) => stepAfter(tried, outcome, { before: judged, after: judged }, settings, 0, () => 1);

  test('delivered on success, whatever was before', () => {
    expect(step({ attempts: 13, counted: 13, wasDead: true }, success)).toEqual({
      state: 'delivered',
      attempts: 14,
    });
  });

  test('tried again while attempts are left', () => {
    expect(step({ attempts: 0, counted: 0, wasDead: false }, failure)).toEqual({
      state: 'retry',
      attempts: 1,
      counted: 1,
      dueAt: 10_000,
    });
  });

  test('dead after the fourteenth', () => {
    expect(step({ attempts: 13, counted: 13, wasDead: false }, failure)).toMatchObject({ state: 'dead' });
  });

  test('attempts while failing do not count, so nothing dies then', () => {
    expect(step({ attempts: 40, counted: 13, wasDead: false }, failure, failing)).toMatchObject({
      state: 'retry',
      attempts: 41,
      counted: 13,
    });
  });

  test('what is dead stays dead unless it succeeds', () => {
    expect(step({ attempts: 3, counted: 3, wasDead: true }, failure)).toMatchObject({
      state: 'dead',
      attempts: 4,
    });
  });
});

describe('classification of an answer', () => {
  const answer = (status: number, retryAfter?: string) =>
    outcomeOfResponse({ status, body: null, retryAfter, now: 0 });

  test.each([200, 201, 204, 299])('%i is success', (status) => expect(answer(status).kind).toBe('succeeded'));
  test.each([301, 302, 304, 308])('%i is a redirect, which fails', (status) =>
    expect(answer(status)).toMatchObject({ reason: 'redirect' }),
  );
  test.each([400, 404, 410, 429, 500, 503])('%i fails', (status) =>
    expect(answer(status)).toMatchObject({ reason: 'http_status', responseStatus: status }),
  );

  test('Retry-After counts on 429 and 503 only', () => {
    expect(answer(503, '7')).toMatchObject({ retryAfterMs: 7_000 });
    expect(answer(429, '7')).toMatchObject({ retryAfterMs: 7_000 });
    expect(answer(500, '7')).toMatchObject({ retryAfterMs: null });
  });

  test.each([
    ['120', 120_000],
    ['99999', 3_600_000],
    ['Thu, 01 Jan 1970 00:00:30 GMT', 30_000],
    ['soon', null],
    ['-5', null],
    ['Thu, 01 Jan 1970 00:00:00 GMT', null],
  ])('Retry-After %s is %s ms', (text, expected) => expect(readRetryAfter(text, 0)).toBe(expected));

  test.each([
    ['ECONNREFUSED', 'connection_refused'],
    ['ECONNRESET', 'connection_closed'],
    ['UND_ERR_SOCKET', 'connection_closed'],
    ['UND_ERR_HEADERS_OVERFLOW', 'response_too_large'],
    ['CERT_HAS_EXPIRED', 'tls_failed'],
    ['DEPTH_ZERO_SELF_SIGNED_CERT', 'tls_failed'],
    ['ERR_TLS_CERT_ALTNAME_INVALID', 'tls_failed'],
    ['HPE_INVALID_CONSTANT', 'malformed_response'],
    ['MALFORMED_RESPONSE', 'malformed_response'],
    ['PROXY_FAILED', 'connection_refused'],
    ['TUNNEL_FAILED', 'connection_refused'],
    ['DNS_FAILED', 'dns_failed'],
    ['BLOCKED_ADDRESS', 'blocked_address'],
    ['UND_ERR_CONNECT_TIMEOUT', 'timeout'],
  ])('%s is %s', (code, reason) => expect(reasonOfError(Object.assign(new Error(), { code }))).toBe(reason));
});
