import { z } from 'zod';
import { freePort } from '../../machine/free-port.ts';
import { saveRun, type Run } from '../run-folder.ts';
import type { Caller } from './caller.ts';
import { subscribers } from './subscribers.ts';

const created = z.object({ subscriptionId: z.string(), signingSecret: z.string() });

/** Makes the subscriptions that the run does not have yet, and keeps what they are known by. */
export async function subscribe(folder: string, run: Run, caller: Caller, eventsUrl: string): Promise<void> {
  for (const [name, { eventTypes, ordering }] of Object.entries(subscribers)) {
    if (run.subscriptions[name] !== undefined) continue;
    const receiverPort = await freePort();
    const { status, body } = await caller.untilAnswered({
      method: 'post',
      url: `${eventsUrl}/subscriptions`,
      json: { eventTypes, ordering, callbackUrl: `http://127.0.0.1:${receiverPort}/` },
    });
    if (status !== 201) throw new Error(`The subscription "${name}" was refused with ${status}`);
    const { subscriptionId, signingSecret } = created.parse(body);
    run.subscriptions[name] = { subscriptionId, signingSecret, receiverPort };
    saveRun(folder, run);
  }
}
