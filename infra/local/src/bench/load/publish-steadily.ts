// Publishes events at a steady pace, in a process of its own, until told to stop; then says how many it published in which
// time, and, if asked, when each was sent.
import { moment } from './moment.ts';
import { connectProducer, messagesOf } from './publish-events.ts';
import { syntheticEvent } from './synthetic-event.ts';

export interface SteadyOptions {
  brokers: string[];
  topicPrefix: string;
  types: readonly string[];
  perSecond: number;
  /** Note when each event was sent. */
  noteTimes: boolean;
}

export interface Published {
  count: number;
  perSecond: number;
  /** When each was handed to the producer, by its subject. */
  sentAt: Record<string, number>;
}

const tickMs = 10;
const { brokers, topicPrefix, types, perSecond, noteTimes } = JSON.parse(
  process.argv[2] ?? '',
) as SteadyOptions;
let stopping = false;
process.on('message', () => (stopping = true));
process.on('disconnect', () => process.exit(0));
process.on('SIGINT', () => {});

const producer = await connectProducer(brokers);
const sentAt: Record<string, number> = {};
const sending = new Set<Promise<unknown>>();
let count = 0;
let tick = 0;
const startedAt = performance.now();
process.send?.({ started: true });
const timer = setInterval(() => {
  if (stopping) return void finish();
  const due = Math.floor(((performance.now() - startedAt) / 1000) * perSecond) - count;
  if (due <= 0) return;
  // One type at a time, so that batches are as large as a producer's are.
  const type = types[tick++ % types.length]!;
  const events = Array.from({ length: due }, () => syntheticEvent(type));
  count += due;
  if (noteTimes) for (const { subject } of events) sentAt[subject] = moment();
  const sent = producer.sendBatch({ acks: -1, topicMessages: messagesOf(events, topicPrefix) });
  sending.add(sent);
  void sent.finally(() => sending.delete(sent));
}, tickMs);

async function finish(): Promise<void> {
  clearInterval(timer);
  await Promise.all(sending);
  const published: Published = { count, perSecond: (count / (performance.now() - startedAt)) * 1000, sentAt };
  await producer.disconnect();
  process.send?.({ published }, () => process.disconnect());
}
