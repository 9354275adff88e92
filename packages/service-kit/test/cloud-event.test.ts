import { describe, expect, test } from '@jest/globals';
import { z } from 'zod';
import {
  binaryRecord,
  cloudEventOf,
  readCloudEvent,
  shardOf,
  structuredRecord,
  UnacceptableRecord,
  type ReceivedRecord,
} from '../src/index.ts';

const fields = {
  id: 'evt_1',
  source: '/things',
  type: 'thing.made',
  subject: 'thing_1',
  time: new Date('2026-01-02T03:04:05.678Z'),
};
const schemas = { 'thing.made': z.object({ n: z.int() }), 'thing.gone': z.object({}) };

const received = (value: Buffer | string | null): ReceivedRecord => ({
  topic: 'things',
  partition: 0,
  offset: '0',
  key: null,
  value: typeof value === 'string' ? Buffer.from(value) : value,
  headers: {},
  timestamp: new Date(),
});
const event = (replaced: object) =>
  received(JSON.stringify({ ...cloudEventOf({ ...fields, data: { n: 1 } }), ...replaced }));

describe('an event on its way out', () => {
  test('in structured mode is one JSON text, keyed by its subject', () => {
    const record = structuredRecord('things', cloudEventOf({ ...fields, data: { n: 1 } }));
    expect(record).toMatchObject({
      topic: 'things',
      key: 'thing_1',
      headers: { 'content-type': 'application/cloudevents+json; charset=utf-8' },
    });
    expect(JSON.parse(String(record.value))).toEqual({
      specversion: '1.0',
      ...fields,
      time: '2026-01-02T03:04:05.678Z',
      datacontenttype: 'application/json',
      data: { n: 1 },
    });
  });

  test('in binary mode has its attributes in headers, and a null value when it is a tombstone', () => {
    const record = binaryRecord('things', { ...fields, data: { n: 1 } });
    expect(record.headers).toEqual({
      'content-type': 'application/json',
      ce_specversion: '1.0',
      ce_id: 'evt_1',
      ce_source: '/things',
      ce_type: 'thing.made',
      ce_subject: 'thing_1',
      ce_time: '2026-01-02T03:04:05.678Z',
    });
    expect(String(record.value)).toBe('{"n":1}');
    expect(binaryRecord('things', { ...fields, data: null }).value).toBeNull();
  });
});

describe('an event that comes in', () => {
  test('is read by the schema of its type, fields that are not in it dropped', () => {
    expect(readCloudEvent(event({ data: { n: 1, more: 2 }, extension: 'x' }), schemas)).toEqual({
      id: 'evt_1',
      type: 'thing.made',
      data: { n: 1 },
    });
  });

  test.each(['thing.admired', 'constructor', 'toString', '__proto__', 'hasOwnProperty'])(
    'of the type %j, which this version does not know, is passed over',
    (type) => {
      expect(readCloudEvent(event({ type }), schemas)).toBeUndefined();
    },
  );

  test.each<[string, ReceivedRecord]>([
    ['a tombstone', received(null)],
    ['nothing', received('')],
    ['no JSON', received('{"id":')],
    ['no UTF-8', received(Buffer.from([0xff, 0xfe]))],
    ['no object', received('[]')],
    ['without an id', event({ id: undefined })],
    ['of another version of CloudEvents', event({ specversion: '0.3' })],
    ['with a time that is none', event({ time: 'yesterday' })],
    ['without data', event({ data: undefined })],
    ['with data that does not fit', event({ data: { n: '123-45-6789' } })],
  ])('that is %s is unacceptable, and what it held is not told', (_what, record) => {
    expect(() => readCloudEvent(record, schemas)).toThrow(UnacceptableRecord);
    expect(() => readCloudEvent(record, schemas)).not.toThrow(/123-45-6789/);
  });
});

test('the shard of a key is the same in every version', () => {
  expect(['', 'a', 'sub_01', 'ä'].map((key) => shardOf(key, 16))).toEqual([0, 3, 15, 3]);
});
