import type { CloudEvent } from '@assistance/types';
import type { OutgoingRecord } from './record-publisher.ts';

export const CLOUD_EVENT_CONTENT_TYPE = 'application/cloudevents+json; charset=utf-8';

export interface CloudEventFields<Type extends string, Data> {
  id: string;
  source: string;
  type: Type;
  subject: string;
  time: Date;
  data: Data;
}

export const cloudEventOf = <Type extends string, Data>(
  fields: CloudEventFields<Type, Data>,
): CloudEvent<Type, Data> => ({
  specversion: '1.0',
  id: fields.id,
  source: fields.source,
  type: fields.type,
  subject: fields.subject,
  time: fields.time.toISOString(),
  datacontenttype: 'application/json',
  data: fields.data,
});

/** A CloudEvent in structured mode (CloudEvents Kafka binding, 3.3), keyed by its subject. */
export const structuredRecord = (topic: string, event: CloudEvent): OutgoingRecord => ({
  topic,
  key: event.subject,
  value: Buffer.from(JSON.stringify(event)),
  headers: { 'content-type': CLOUD_EVENT_CONTENT_TYPE },
});

/** A CloudEvent in binary mode (CloudEvents Kafka binding, 3.2): a null value is a tombstone. */
export const binaryRecord = (
  topic: string,
  fields:
    CloudEventFields<string, unknown> | (Omit<CloudEventFields<string, unknown>, 'data'> & { data: null }),
): OutgoingRecord => ({
  topic,
  key: fields.subject,
  value: fields.data === null ? null : Buffer.from(JSON.stringify(fields.data)),
  headers: {
    'content-type': 'application/json',
    ce_specversion: '1.0',
    ce_id: fields.id,
    ce_source: fields.source,
    ce_type: fields.type,
    ce_subject: fields.subject,
    ce_time: fields.time.toISOString(),
  },
});
