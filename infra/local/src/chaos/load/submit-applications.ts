import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { appendTo, linesOf } from '../ledger/json-lines.ts';
import type { SubmissionLine } from '../ledger/ledger-lines.ts';
import { codeOf, type Caller } from './caller.ts';
import { programCodeOf, programs } from './programs.ts';

const everyMs = 250;
/** So many are sent twice at once, as by an impatient person: still one application. */
const shareSentTwice = 0.2;
/** More than this waiting for an answer, and no new ones are begun. */
const mostWaiting = 200;

const accepted = z.object({ applicationId: z.string() });
type Sent = Extract<SubmissionLine, { step: 'sent' }>;

export interface Submitting {
  inFlight(): number;
  /** Resolves when each submission has its answer. */
  finish(): Promise<void>;
}

/** Submits applications at a steady pace, each under a key of its own, each until it is answered. */
export async function submitApplications(options: {
  file: string;
  caller: Caller;
  applicationsUrl: string;
  random: () => number;
  signal: AbortSignal;
}): Promise<Submitting> {
  const { file, caller, applicationsUrl, random, signal } = options;
  const unanswered = await submissionsWithoutAnswer(file);
  const write = appendTo<SubmissionLine>(file);
  const waiting = new Set<Promise<void>>();
  let finishing = false;
  for (const submission of unanswered) send(submission);
  const steady = keepSubmitting();
  return {
    inFlight: () => waiting.size,
    finish: async () => {
      finishing = true;
      await steady;
      while (waiting.size > 0) await Promise.all(waiting);
    },
  };

  async function keepSubmitting(): Promise<void> {
    const names = Object.keys(programs);
    while (!finishing && !signal.aborted) {
      if (waiting.size < mostWaiting) {
        const program = random() < 0.5 ? 'CHAOS-AID' : names[Math.floor(random() * names.length)]!;
        const key = randomUUID();
        const submission: Sent = {
          step: 'sent',
          ...{ key, program, applicantRef: `applicant-${key}`, at: Date.now() },
        };
        write(submission);
        send(submission);
        if (random() < shareSentTwice) send(submission);
      }
      await sleep(everyMs, undefined, { signal }).catch(() => {});
    }
  }

  function send(submission: Sent): void {
    const sending = submit(submission)
      .catch((error: unknown) => {
        const { key } = submission;
        const code = `unreadable: ${String(error)}`;
        if (!signal.aborted) write({ step: 'refused', key, status: 201, code, at: Date.now() });
      })
      .finally(() => waiting.delete(sending));
    waiting.add(sending);
  }

  async function submit({ key, program, applicantRef }: Sent): Promise<void> {
    const { status, body } = await caller.untilAnswered({
      method: 'post',
      url: `${applicationsUrl}/applications`,
      headers: { 'idempotency-key': key },
      json: {
        ...{ programCode: programCodeOf(program), channel: 'web', applicantRef },
        answers: programs[program]!.answers,
      },
    });
    const at = Date.now();
    if (status === 201)
      write({ step: 'accepted', key, applicationId: accepted.parse(body).applicationId, at });
    else write({ step: 'refused', key, status, code: codeOf(body), at });
  }
}

/** Of the part of the run that was broken off. */
async function submissionsWithoutAnswer(file: string): Promise<Sent[]> {
  const open = new Map<string, Sent>();
  for await (const line of linesOf<SubmissionLine>(file)) {
    if (line.step === 'sent') open.set(line.key, line);
    else open.delete(line.key);
  }
  return [...open.values()];
}
