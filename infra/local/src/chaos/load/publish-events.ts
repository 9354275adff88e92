import { setTimeout as sleep } from 'node:timers/promises';
import { Kafka, logLevel, Partitioners, type Producer } from 'kafkajs';
import { appendTo, linesOf } from '../ledger/json-lines.ts';
import type { EventLine } from '../ledger/ledger-lines.ts';

/** The events that the agency's own systems publish, and where. */
const publications = {
  'document.available': { topic: 'assistance.events.document-available.v1', source: 'documents-system' },
  'request.released': { topic: 'assistance.events.request-released.v1', source: 'records-system' },
} as const;
type PublishedType = keyof typeof publications;

const everyMs = 300;
const eventsPerTurn = 3;
const subjectsPerType = 12;
const retryMs = 300;

type Sent = Extract<EventLine, { step: 'sent' }>;

export interface Publishing {
  /** Events sent to Kafka and not yet acknowledged. */
  inFlight(): number;
  /** Resolves when each event is acknowledged. */
  finish(): Promise<void>;
}

/**
 * Publishes events at a steady pace through a producer of its own. What Kafka did not acknowledge is sent again with the
 * same id and bytes, before anything newer of that type: so the order of a subject's events is that of their sequence.
 */
export async function publishEvents(options: {
  file: string;
  brokers: string[];
  topicPrefix: string;
  random: () => number;
  signal: AbortSignal;
}): Promise<Publishing> {
  const { file, topicPrefix, random, signal } = options;
  const known = await readEvents(file);
  const write = appendTo<EventLine>(file);
  const kafka = new Kafka({
    clientId: 'chaos',
    brokers: options.brokers,
    logLevel: logLevel.NOTHING,
    connectionTimeout: 3_000,
    requestTimeout: 8_000,
    retry: { retries: 2, initialRetryTime: 100, maxRetryTime: 1_000 },
  });
  let inFlight = 0;
  let finishing = false;
  const types = Object.keys(publications) as PublishedType[];
  const steady = types.map((type) => keepPublishing(type));
  return {
    inFlight: () => inFlight,
    finish: async () => {
      finishing = true;
      await Promise.all(steady);
    },
  };

  async function keepPublishing(type: PublishedType): Promise<void> {
    let producer = newProducer();
    const { sequences } = known;
    let next = known.unacknowledged.filter((event) => event.type === type);
    while (!signal.aborted && (!finishing || next.length > 0)) {
      if (next.length > 0 && !(await sent(next))) continue;
      next = finishing ? [] : Array.from({ length: eventsPerTurn }, () => newEvent(type, sequences));
      for (const event of next) write(event);
      await sleep(next.length > 0 ? everyMs : 0, undefined, { signal }).catch(() => {});
    }
    await producer.disconnect().catch(() => {});

    async function sent(events: Sent[]): Promise<boolean> {
      inFlight += events.length;
      try {
        await producer.connect();
        await producer.send({
          topic: topicPrefix + publications[type].topic,
          acks: -1,
          messages: events.map((event) => ({
            key: event.subject,
            value: Buffer.from(event.body, 'base64'),
            headers: { 'content-type': 'application/cloudevents+json; charset=UTF-8' },
          })),
        });
        for (const { id } of events) write({ step: 'acknowledged', id });
        return true;
      } catch {
        await producer.disconnect().catch(() => {});
        producer = newProducer();
        await sleep(retryMs);
        return false;
      } finally {
        inFlight -= events.length;
      }
    }
  }

  function newProducer(): Producer {
    return kafka.producer({
      allowAutoTopicCreation: false,
      createPartitioner: Partitioners.DefaultPartitioner,
    });
  }

  function newEvent(type: PublishedType, sequences: Map<string, number>): Sent {
    const prefix = type === 'document.available' ? 'DOC' : 'REQ';
    const subject = `${prefix}-${Math.floor(random() * subjectsPerType)}`;
    const sequence = (sequences.get(subject) ?? 0) + 1;
    sequences.set(subject, sequence);
    const id = `chaos-${subject}-${sequence}`;
    return { step: 'sent', id, type, subject, sequence, body: bodyOf(type, subject, sequence, id) };
  }
}

/** Valid JSON that no serializer would write: whoever parses it and writes it anew changes its bytes. */
function bodyOf(type: PublishedType, subject: string, sequence: number, id: string): string {
  const at = new Date().toISOString();
  const ofType =
    type === 'document.available'
      ? { documentId: subject, caseId: null, availableAt: at }
      : { requestId: subject, releasedAt: at };
  const event = {
    ...{ specversion: '1.0', id, source: publications[type].source, type, subject, time: at },
    ...{ datacontenttype: 'application/json', data: { ...ofType, sequence, weight: 'WEIGHT' } },
  };
  const text = JSON.stringify(event, null, sequence % 3).replace(
    '"WEIGHT"',
    '1.50E+1 , "note":"caf\\u00e9 ✓"',
  );
  return Buffer.from(`${text}\n`).toString('base64');
}

async function readEvents(file: string) {
  const open = new Map<string, Sent>();
  const sequences = new Map<string, number>();
  for await (const line of linesOf<EventLine>(file)) {
    if (line.step === 'acknowledged') open.delete(line.id);
    else {
      open.set(line.id, line);
      sequences.set(line.subject, line.sequence);
    }
  }
  return { sequences, unacknowledged: [...open.values()] };
}
