import { describe, expect, test } from '@jest/globals';
import {
  applicationSubmission,
  errorStatus,
  eventTypeNames,
  messageData,
  replayRequest,
  subscriptionChange,
  subscriptionCreation,
  topicOfEvent,
  topics,
  type Topic,
} from '../src/index.ts';

const all = Object.values<Topic>(topics);

describe('the table of topics', () => {
  test('each name is there once, in lower case with dots', () => {
    expect(new Set(all.map(({ name }) => name)).size).toBe(all.length);
    for (const { name } of all) expect(name).toMatch(/^assistance(\.[a-z-]+)+(\.v\d+|\.dlq)$/);
  });

  test('each event type has one topic, which the dispatcher reads', () => {
    for (const type of eventTypeNames) {
      expect(all.filter(({ types }) => types.includes(type))).toHaveLength(1);
      expect(topicOfEvent[type].consumers).toContain('webhook-dispatcher');
    }
  });

  test('each type that a topic carries has a schema of its data', () => {
    const types = all.flatMap((topic) => topic.types).filter((type) => type !== 'dead_letter');
    expect(Object.keys(messageData).toSorted()).toEqual([...types].toSorted());
  });

  test('only a compacted topic is binary, besides those for dead letters', () => {
    for (const { name, mode, policy } of all) {
      if (!name.endsWith('.dlq')) expect(mode === 'binary').toBe(policy === 'compact');
    }
  });
});

test('every error code has the status that its group says', () => {
  for (const status of Object.values(errorStatus)) expect(status).toBeGreaterThanOrEqual(400);
  expect(errorStatus).toMatchObject({
    validation_error: 400,
    token_missing: 401,
    not_found: 404,
    unavailable: 503,
  });
});

describe('a submission', () => {
  const valid = { programCode: 'HEATING-AID', channel: 'web', applicantRef: 'ref-1' };
  const accepts = (body: unknown): boolean => applicationSubmission.safeParse(body).success;

  test('needs three fields and takes two more, which may be null', () => {
    expect(accepts(valid)).toBe(true);
    expect(accepts({ ...valid, declarationId: null, answers: null })).toBe(true);
    expect(accepts({ ...valid, declarationId: 'd-1', answers: { householdSize: 3 } })).toBe(true);
    for (const field of Object.keys(valid)) expect(accepts({ ...valid, [field]: undefined })).toBe(false);
  });

  test.each([
    ['an unknown field', { ...valid, ssn: 'x' }],
    ['an empty reference', { ...valid, applicantRef: '' }],
    ['a space at an end', { ...valid, applicantRef: 'ref ' }],
    ['a control character', { ...valid, applicantRef: 'a\u0007b' }],
    ['129 characters', { ...valid, applicantRef: 'x'.repeat(129) }],
    ['another channel', { ...valid, channel: 'fax' }],
    ['a code that no program could have', { ...valid, programCode: '-A' }],
    ['answers that are a list', { ...valid, answers: [] }],
  ])('refuses %s', (_name, body) => expect(accepts(body)).toBe(false));

  test('counts code points, not UTF-16 units', () => {
    expect(accepts({ ...valid, applicantRef: '𝒳'.repeat(128) })).toBe(true);
    expect(accepts({ ...valid, applicantRef: '𝒳'.repeat(129) })).toBe(false);
    expect(accepts({ ...valid, applicantRef: 'e\u0301'.repeat(65) })).toBe(false);
  });
});

describe('a subscription', () => {
  test('drops doubled event types and keeps the order of the catalogue', () => {
    const body = {
      eventTypes: ['request.released', 'case.status_changed', 'request.released'],
      callbackUrl: 'x',
    };
    expect(subscriptionCreation.parse(body).eventTypes).toEqual(['case.status_changed', 'request.released']);
  });

  test('needs at least one known event type', () => {
    expect(subscriptionCreation.safeParse({ eventTypes: [], callbackUrl: 'x' }).success).toBe(false);
    expect(subscriptionCreation.safeParse({ eventTypes: ['case.closed'], callbackUrl: 'x' }).success).toBe(
      false,
    );
  });

  test('a change must change something', () => {
    expect(subscriptionChange.safeParse({}).success).toBe(false);
    expect(subscriptionChange.safeParse({ status: null }).success).toBe(false);
    expect(subscriptionChange.safeParse({ status: 'paused' }).success).toBe(true);
    expect(subscriptionChange.safeParse({ status: 'failing' }).success).toBe(false);
  });

  test('a replay takes any RFC 3339 time, and nothing at all', () => {
    expect(replayRequest.safeParse({}).success).toBe(true);
    expect(replayRequest.safeParse({ since: '2026-01-01T10:00:00+02:00', mode: 'missing' }).success).toBe(
      true,
    );
    expect(replayRequest.safeParse({ since: 'yesterday' }).success).toBe(false);
  });
});
