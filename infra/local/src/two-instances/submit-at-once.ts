import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import type { Finding } from './run-two-instances.ts';
import type { Stage } from './stage.ts';

const copies = 50;
const list = z.object({ data: z.array(z.unknown()) });

/** Identical submissions at the same time, every other one to the other instance. */
export async function* submitAtOnce({ victim, caller, rounds }: Stage): AsyncGenerator<Finding> {
  const { applications, services } = victim.addresses;
  const both = ['applications', 'applications-2'].map((name) => `${services[name]}/applications/v1`);
  let right = 0;
  for (let round = 0; round < rounds; round++) {
    const programCode = `AT-ONCE-${randomUUID().slice(0, 8)}`;
    const headers = { 'idempotency-key': randomUUID() };
    const json = { programCode, channel: 'web', applicantRef: 'applicant-50', answers: { size: 3 } };
    const answers = await Promise.all(
      Array.from({ length: copies }, (_, n) =>
        caller.untilAnswered({ method: 'post', url: `${both[n % 2]}/applications`, headers, json }),
      ),
    );
    const different = new Set(answers.map((answer) => JSON.stringify(answer)));
    const url = `${applications}/applications?programCode=${programCode}`;
    const there = list.parse((await caller.untilAnswered({ method: 'get', url })).body).data.length;
    if (different.size === 1 && answers[0]!.status === 201 && there === 1) right += 1;
  }
  yield {
    what: `${copies} identical submissions at once to both instances`,
    found: `one application and ${copies} equal answers in ${right} of ${rounds} rounds`,
    holds: right === rounds,
  };
}
