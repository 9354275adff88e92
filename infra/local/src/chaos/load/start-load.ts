import type { Platform } from '../../platform/platform-file.ts';
import type { InFlight } from '../ledger/ledger-lines.ts';
import type { Run, RunFiles } from '../run-folder.ts';
import { seededRandom } from '../seeded-random.ts';
import type { Caller } from './caller.ts';
import { askAboutSubscriptions } from './ask-about-subscriptions.ts';
import { askForReplays } from './ask-for-replays.ts';
import { publishEvents } from './publish-events.ts';
import type { Receiver } from './start-receiver.ts';
import { submitApplications } from './submit-applications.ts';
import { troubleSubscribers } from './trouble-subscribers.ts';

export interface Load {
  inFlight: () => InFlight;
  /** Begins nothing new; resolves when every submission is answered, every event acknowledged, every subscriber well. */
  finish(): Promise<void>;
}

const finishWithinMs = 120_000;

/** A steady load of submissions, events and replays, and subscribers that have troubles of their own. */
export async function startLoad(options: {
  files: RunFiles;
  run: Run;
  platform: Platform;
  topicPrefix: string;
  caller: Caller;
  receivers: Record<string, Receiver>;
  signal: AbortSignal;
}): Promise<Load> {
  const { files, run, platform, topicPrefix, caller, receivers, signal } = options;
  const common = { caller, random: seededRandom(run.seed + 1), signal };
  const submitting = await submitApplications({
    ...common,
    file: files.submissions,
    applicationsUrl: platform.applications,
  });
  const publishing = await publishEvents({
    ...common,
    ...{ file: files.events, brokers: platform.kafka, topicPrefix },
  });
  const ended = new AbortController();
  const ending = AbortSignal.any([signal, ended.signal]);
  const asking = askAboutSubscriptions({ run, platform, caller, ending });
  const eventsUrl = platform.events;
  const troubling = troubleSubscribers({
    ...common,
    ...{ run, receivers, eventsUrl, ending },
  });
  const replaying = askForReplays({ ...common, file: files.replays, run, platform, ending });
  for (const going of [asking.finished, troubling, replaying]) going.catch(() => {}); // heard of in finish
  return {
    inFlight: () => ({
      submissions: submitting.inFlight(),
      questions: asking.inFlight(),
      publishes: publishing.inFlight(),
      deliveries: Object.values(receivers).reduce((sum, receiver) => sum + receiver.inFlight(), 0),
    }),
    finish: async () => {
      ended.abort();
      const finished = Promise.all([
        ...[submitting.finish(), publishing.finish(), asking.finished, troubling, replaying],
      ]);
      const overdue = AbortSignal.timeout(finishWithinMs);
      const giveUp = new Promise<never>((_resolve, reject) => {
        overdue.addEventListener('abort', () =>
          reject(new Error(`The load did not come to its end within ${finishWithinMs / 1000} s`)),
        );
      });
      await Promise.race([finished, giveUp]);
    },
  };
}
