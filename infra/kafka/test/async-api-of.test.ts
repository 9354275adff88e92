import { expect, test } from '@jest/globals';
import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { cloudEventOf, structuredRecord } from '@assistance/service-kit';
import { topics, type Party, type Topic } from '@assistance/types';
import { asyncApiOf } from '../src/async-api-of.ts';

const table = Object.entries<Topic>(topics);
const documentOf = (party: Party): any => asyncApiOf(party, topics);

test('each topic is sent by its producer alone and received by its consumers alone', () => {
  const parties = new Set(table.flatMap(([, { producer, consumers }]) => [producer, ...consumers]));
  for (const [name, { name: address, producer, consumers }] of table) {
    for (const party of parties) {
      const { operations, channels } = documentOf(party);
      expect(`send.${name}` in operations).toBe(party === producer);
      expect(`receive.${name}` in operations).toBe(consumers.includes(party));
      if (name in channels) expect(channels[name].address).toBe(address);
    }
  }
});

const example = cloudEventOf({
  id: 'evt_1',
  source: '/documents',
  type: 'document.available',
  subject: 'doc-1',
  time: new Date(0),
  data: { documentId: 'doc-1', availableAt: new Date(0).toISOString(), pages: 3 },
});
const isDescribed = (event: object): boolean => {
  const message = documentOf('documents-system').components.messages['document.available'];
  const ajv = new Ajv2020({ strict: false });
  addFormats.default(ajv);
  return ajv.validate(message.payload, event);
};

test('a record as it is written is as the document says; one of another shape is not', () => {
  const { value, headers } = structuredRecord(topics.documentAvailable.name, example);
  const written = JSON.parse(String(value)) as typeof example;
  const message = documentOf('documents-system').components.messages['document.available'];
  expect(headers['content-type']).toBe(message.contentType);
  expect(isDescribed(written)).toBe(true);
  expect(isDescribed({ ...written, type: 'request.released' })).toBe(false);
  expect(isDescribed({ ...written, data: { ...written.data, availableAt: 'yesterday' } })).toBe(false);
});

test('the state of a compacted topic may be null, and says so in its headers', () => {
  const message = documentOf('webhook-dispatcher').components.messages['subscription.recorded'];
  expect(message.payload.anyOf).toContainEqual({ type: 'null' });
  expect(message.headers.properties.ce_type).toEqual({ const: 'subscription.recorded' });
});
