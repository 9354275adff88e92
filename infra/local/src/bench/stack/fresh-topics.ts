import { randomBytes } from 'node:crypto';
import { connectKafka, createLogger, provisionTopics } from '@assistance/service-kit';
import { topics, type Topic } from '@assistance/types';
import type { ThrowawayStack } from '../../test-run/throwaway-stack.ts';

const partitions = 3;

/** Topics of their own, empty; answers what stands before their names. `further` ones have one partition each. */
export async function freshTopics({ brokers }: ThrowawayStack, further: Topic[] = []): Promise<string> {
  const topicPrefix = `b${randomBytes(4).toString('hex')}.`;
  const log = createLogger({ service: 'bench', level: 'silent' });
  const common = {
    kafka: connectKafka({ brokers, clientId: 'bench', log }),
    topicPrefix,
    replicationFactor: 1,
  };
  await provisionTopics({ ...common, topics: Object.values<Topic>(topics), partitions });
  if (further.length > 0) await provisionTopics({ ...common, topics: further, partitions: 1 });
  return topicPrefix;
}
