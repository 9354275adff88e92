import { beforeAll, expect, test } from '@jest/globals';
import { newId } from '@assistance/service-kit';
import { waitUntil, type Received } from '@assistance/test-kit';
import { topics } from '@assistance/types';
import { runDispatcher } from './start-dispatcher.ts';

// All records are published together, on one partition, with an event behind them: what is refused holds up nothing.

const { surroundings } = await runDispatcher({ LOG_LEVEL: 'fatal' });
const receiver = await surroundings.receive();
const topic = topics.documentAvailable.name;

interface Case {
  is: string;
  value: Buffer | null;
}

const event = (fields: Record<string, unknown> = {}): Record<string, unknown> => ({
  specversion: '1.0',
  id: newId('evt'),
  source: '/documents',
  type: 'document.available',
  subject: 'doc_1',
  time: new Date().toISOString(),
  data: { documentId: 'doc_1', availableAt: new Date().toISOString() },
  ...fields,
});
const textOf = (fields?: Record<string, unknown>): Buffer => Buffer.from(JSON.stringify(event(fields)));
const of = (is: string, fields: Record<string, unknown>): Case => ({ is, value: textOf(fields) });

/** The most that Kafka takes by default is 1,048,588 bytes with all that belongs to a record. */
const MEGABYTE = 1_048_400;
const padded = (fields?: Record<string, unknown>): Buffer => {
  const { length } = textOf({ ...fields, padding: '' });
  return textOf({ ...fields, padding: 'x'.repeat(MEGABYTE - length) });
};

const notJson = 'the value is not JSON in UTF-8';
const noEvent = 'the record is not a CloudEvent';
const otherType = 'the type is not that of the topic';
const unclean = 'id, source or subject has NUL or a lone surrogate';

const refused: (Case & { error: string })[] = [
  { is: 'no JSON', value: Buffer.from('no json'), error: notJson },
  { is: 'a megabyte that is no JSON', value: Buffer.alloc(MEGABYTE, 'x'), error: notJson },
  { is: 'empty', value: Buffer.alloc(0), error: notJson },
  { is: 'a tombstone', value: null, error: notJson },
  { is: 'JSON behind a byte-order mark', value: Buffer.from(`\uFEFF${String(textOf())}`), error: notJson },
  {
    is: 'not UTF-8',
    value: Buffer.from(String(textOf({ note: 'José' })), 'latin1'),
    error: notJson,
  },
  {
    is: 'with a raw NUL inside',
    value: Buffer.from(String(textOf()).replace('doc_1', 'doc_\0')),
    error: notJson,
  },
  { is: 'a list', value: Buffer.from(`[${String(textOf())}]`), error: noEvent },
  { ...of('without id', { id: undefined }), error: noEvent },
  { ...of('of an empty id', { id: '' }), error: noEvent },
  { ...of('of a number for an id', { id: 7 }), error: noEvent },
  { ...of('without source', { source: undefined }), error: noEvent },
  { ...of('of an older specification', { specversion: '0.3' }), error: noEvent },
  { ...of('of a time that is none', { time: 'yesterday' }), error: noEvent },
  { ...of('of an unknown type', { type: 'document.burnt' }), error: otherType },
  { ...of("of another topic's type", { type: 'request.released' }), error: otherType },
  { ...of('with NUL in its id', { id: 'a\0b' }), error: unclean },
  { ...of('with NUL in its subject', { subject: 'a\0b' }), error: unclean },
  { ...of('with half a surrogate in its source', { source: '/\ud800' }), error: unclean },
];

const twice = textOf({ id: 'evt_twice' });
const accepted: Case[] = [
  { is: 'a megabyte', value: padded() },
  of('from a clock in 1970', { id: 'evt_1970', time: '1970-01-01T00:00:00Z' }),
  of('from a clock in 2100', { id: 'evt_2100', time: '2100-01-01T00:00:00.123456+14:00' }),
  of('without a time', { time: undefined }),
  of('without a subject', { subject: undefined }),
  of('without data', { data: undefined }),
  of('with NUL and half a surrogate in its data', { data: { note: '\0 \ud800' } }),
  of('with an id that no header can carry', { id: 'Grüße\n' }),
  of('with an id of another source', { id: 'evt_twice', source: '/elsewhere' }),
  {
    is: 'written with spaces, escapes and numbers of its own',
    value: Buffer.from(
      ` {"specversion" : "1.0","id":"\\u0065vt_odd","source":"/documents",\n"type":"document.available","data":{"n":1.50e3,"n":9007199254740993}}\r\n`,
    ),
  },
  { is: 'published twice', value: twice },
];

let deadLetters: ReturnType<typeof surroundings.deadLetters>;
const last = textOf({ id: 'evt_last' });
const publishedAt = new Date();
beforeAll(async () => {
  await surroundings.subscribe({ callbackUrl: receiver.url });
  const values = [...accepted, ...refused].map(({ value }) => value);
  // Kafka takes no more than a megabyte at once.
  for (const value of [...values, twice, last, twice]) {
    await surroundings.publisher.publish([{ topic, key: 'same', value, headers: {} }]);
  }
  await receiver.waitFor(({ headers }) => headers['webhook-id'] === 'evt_last', 20_000);
  deadLetters = surroundings.deadLetters();
}, 30_000);

const receivedAs = (value: Buffer | null): Received[] =>
  receiver.received.filter(({ bytes }) => value?.equals(bytes));

test.each(accepted)('an event $is is delivered once, as the bytes that came', async ({ value }) => {
  await waitUntil(() => receivedAs(value).length > 0);
  expect(receivedAs(value)).toHaveLength(1);
});

test.each(refused)(
  'a record $is goes to the dead-letter topic, and to no subscriber',
  async ({ value, error }) => {
    const letters = (await deadLetters).filter((letter) =>
      value === null ? letter.value === null : letter.value?.equals(value),
    );
    expect(letters.map((letter) => letter.error)).toEqual([error]);
    expect(receivedAs(value)).toEqual([]);
  },
);

test('an id that no header can carry is told as a digest, and an event of another source is another event', () => {
  const [odd] = receiver.received.filter(({ body }) => body.includes('Grüße'));
  expect(odd?.headers['webhook-id']).toMatch(/^evt_[0-9a-f]{32}$/);
  expect(receiver.received.filter(({ headers }) => headers['webhook-id'] === 'evt_twice')).toHaveLength(2);
});

test('a clock that is far off counts as the arrival', async () => {
  for (const webhookId of ['evt_1970', 'evt_2100']) {
    const { eventTime, arrivedAt } = await surroundings.prisma.event.findFirstOrThrow({
      where: { webhookId },
    });
    expect(eventTime).toEqual(arrivedAt);
    expect(eventTime.getTime()).toBeGreaterThanOrEqual(publishedAt.getTime());
  }
});

test('nothing else was kept', async () => {
  expect(await surroundings.prisma.event.count()).toBe(accepted.length + 1);
});
