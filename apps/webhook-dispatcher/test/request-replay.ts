import { topics, type ReplayMode } from '@assistance/types';
import { cloudEventOf, newId, structuredRecord } from '@assistance/service-kit';
import type { Subscribed, Surroundings } from './start-dispatcher.ts';

/** Answers the id of the replay. */
export async function requestReplay(
  surroundings: Surroundings,
  of: Subscribed,
  mode: ReplayMode,
  since = new Date(Date.now() - 60_000),
): Promise<string> {
  const replayId = newId('rep');
  const requestedAt = new Date().toISOString();
  await command(surroundings, 'subscription.replay_requested', of, {
    replayId,
    since: since.toISOString(),
    mode,
    requestedAt,
  });
  return replayId;
}

/** Tells the dispatcher a command of an owner as the subscriptions service does. */
export async function command(
  surroundings: Surroundings,
  type: string,
  { record }: Subscribed,
  data: Record<string, unknown>,
): Promise<void> {
  const { subscriptionId, version } = record;
  const event = cloudEventOf({
    id: newId('evt'),
    source: '/subscriptions',
    type,
    subject: subscriptionId,
    time: new Date(),
    data: { subscriptionId, version, ...data },
  });
  await surroundings.publisher.publish([structuredRecord(topics.command.name, event)]);
}
