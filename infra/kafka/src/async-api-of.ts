import { cloudEvent, messageData, type Party, type Topic } from '@assistance/types';
import { API_VERSION, CLOUD_EVENT_CONTENT_TYPE, jsonSchemaOf, type Json } from '@assistance/service-kit';
import { z } from 'zod';

/** What one party sends and receives over Kafka as an AsyncAPI 3.0 document, made from the table of topics alone. */
export function asyncApiOf(party: Party, topics: Record<string, Topic>): Json {
  const own = Object.entries(topics).filter(
    ([, { producer, consumers }]) => producer === party || consumers.includes(party),
  );
  const carried = own.flatMap(([, topic]) =>
    topic.types.map((type): [string, Json] => [type, messageOf(topic, type)]),
  );
  return {
    asyncapi: '3.0.0',
    id: `urn:assistance:${party}`,
    info: {
      title: `Topics of ${party}`,
      version: API_VERSION,
      description: `The Kafka topics that ${party} writes and reads. Every value is a CloudEvent 1.0.`,
      license: { name: 'Apache-2.0', url: 'https://www.apache.org/licenses/LICENSE-2.0' },
      tags: [{ name: party, description: 'Whose view this is.' }],
    },
    servers: { kafka },
    defaultContentType: 'application/json',
    channels: Object.fromEntries(own.map(([name, topic]) => [name, channelOf(topic)])),
    operations: Object.fromEntries(own.flatMap(([name, topic]) => operationsOf(party, name, topic))),
    components: { messages: Object.fromEntries(carried) },
  };
}

/** Where it is and how one signs in is the deployment's. */
const kafka: Json = {
  host: '{brokers}',
  protocol: 'kafka',
  description: 'The brokers of KAFKA_BROKERS.',
  variables: { brokers: { default: 'localhost:9092' } },
};

const channelOf = (topic: Topic): Json => ({
  address: topic.name,
  description: topic.description,
  messages: Object.fromEntries(topic.types.map((type) => [type, { $ref: `#/components/messages/${type}` }])),
  bindings: {
    kafka: {
      topicConfiguration: {
        'cleanup.policy': [topic.policy],
        [topic.policy === 'compact' ? 'delete.retention.ms' : 'retention.ms']:
          topic.retentionDays * 86_400_000,
        ...(topic.maxRecordBytes === undefined ? {} : { 'max.message.bytes': topic.maxRecordBytes }),
      },
      bindingVersion: '0.5.0',
    },
  },
});

/** Who writes a topic of its own dead letters reads it too. */
function operationsOf(
  party: Party,
  name: string,
  { producer, consumers, description }: Topic,
): [string, Json][] {
  const operation = (action: 'send' | 'receive'): [string, Json] => [
    `${action}.${name}`,
    { action, channel: { $ref: `#/channels/${name}` }, description },
  ];
  return [
    ...(producer === party ? [operation('send')] : []),
    ...(consumers.includes(party) ? [operation('receive')] : []),
  ];
}

function messageOf(topic: Topic, type: string): Json {
  const common = {
    name: type,
    title: type,
    bindings: {
      kafka: {
        key: { type: 'string', description: `The unit of order: ${topic.key}.` },
        bindingVersion: '0.5.0',
      },
    },
  };
  const data = messageData[type];
  if (data === undefined)
    return { ...common, summary: topic.description, headers: deadLetterHeaders, payload: {} };
  return topic.mode === 'structured'
    ? {
        ...common,
        contentType: CLOUD_EVENT_CONTENT_TYPE,
        payload: jsonSchemaOf(cloudEvent.extend({ type: z.literal(type), data }), 'output'),
      }
    : {
        ...common,
        contentType: 'application/json',
        headers: binaryHeaders(type),
        payload: jsonSchemaOf(data.nullable(), 'output'),
      };
}

/** CloudEvents Kafka binding, 3.2. */
const binaryHeaders = (type: string): Json => ({
  type: 'object',
  properties: {
    ce_specversion: { const: '1.0' },
    ce_type: { const: type },
    ce_id: text('Of this message.'),
    ce_source: text('Who says it.'),
    ce_subject: text('The key.'),
    ce_time: { type: 'string', format: 'date-time' },
  },
  required: ['ce_specversion', 'ce_type', 'ce_id', 'ce_source'],
});

const text = (description: string): Json => ({ type: 'string', description });

const deadLetterHeaders: Json = {
  type: 'object',
  description: 'Those of the original, and:',
  properties: {
    'dlq-topic': text('Where the record lay.'),
    'dlq-partition': text('Its partition there.'),
    'dlq-offset': text('Its offset there.'),
    'dlq-code': { enum: ['unacceptable', 'refused_by_database'] },
    'dlq-error': text('Why it could not be taken; nothing of its content.'),
    'dlq-at': { type: 'string', format: 'date-time' },
    'dlq-replayed': text('Of a note that the letter at this partition and offset was put back.'),
  },
  required: ['dlq-topic', 'dlq-partition', 'dlq-offset', 'dlq-error', 'dlq-at'],
};
