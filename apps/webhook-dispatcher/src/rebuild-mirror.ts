// node dist/rebuild-mirror.js   makes the mirror of subscriptions anew from the compacted topic
import { connectKafka, createLogger, readConfig, runCommand, serviceConfig } from '@assistance/service-kit';
import { rebuildMirror } from './mirror/rebuild-mirror.ts';
import { openDatabase } from './open-database.ts';

const RETRIES = 10;

const env = readConfig(
  serviceConfig.pick({ DATABASE_URL: true, KAFKA_BROKERS: true, KAFKA_TOPIC_PREFIX: true }),
  process.env,
);

await runCommand(async () => {
  const log = createLogger({ service: 'webhook-dispatcher', level: 'silent' });
  const clientId = 'webhook-dispatcher-rebuild';
  const prisma = openDatabase({ url: env.DATABASE_URL, poolSize: 1 });
  const { read, unreadable, untold } = await rebuildMirror({
    prisma,
    kafka: connectKafka({ brokers: env.KAFKA_BROKERS, clientId, log, retries: RETRIES }),
    topicPrefix: env.KAFKA_TOPIC_PREFIX,
  }).finally(() => prisma.$disconnect());
  say(`${read} subscriptions are as the topic says.`);
  for (const place of unreadable) say(`The record at ${place} is no subscription and was passed over.`);
  for (const id of untold) say(`${id} is in the mirror and not on the topic; it was left as it is.`);
  return unreadable.length === 0;
});

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}
