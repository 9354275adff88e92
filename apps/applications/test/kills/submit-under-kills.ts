import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ServiceProcess, TestIssuer } from '@assistance/test-kit';
import { clientOf } from '../support/start-service.ts';
import { submit } from '../support/submission.ts';

/** One key, and everything that was answered to it. */
export interface Submitted {
  key: string;
  program: string;
  decision: string;
  /** Bodies and places of the 201s. */
  answers: string[];
  refusals: string[];
}

export interface Load {
  submitted: Submitted[];
  /** Requests that went without an answer, or were told to come again. */
  unanswered(): number;
  inFlight(): number;
  /** Resolves when every submission has its answer. */
  finish(): Promise<void>;
}

const SUBMITTERS = 8;
/** So many are sent twice at once, and so many again once they are answered. */
const SHARE_SENT_AGAIN = 0.3;
const PAUSE_MS = { afterAnswer: 25, beforeAgain: 100 };
const programs = [
  { program: 'ANY-AID', decision: 'eligible', answers: undefined },
  { program: 'TEST-INELIGIBLE', decision: 'ineligible', answers: undefined },
  { program: 'TEST-SCHEMA', decision: 'eligible', answers: { householdSize: 2, monthlyIncomeCents: 100 } },
  {
    program: 'TEST-SCHEMA',
    decision: 'ineligible',
    answers: { householdSize: 2, monthlyIncomeCents: 250_001 },
  },
];

/** Callers that submit one application after the other, each under a key of its own and again until it is answered. */
export function submitUnderKills(instances: () => ServiceProcess[], issuer: TestIssuer): Load {
  const submitted: Submitted[] = [];
  let [finishing, unanswered, inFlight] = [false, 0, 0];
  const submitters = Array.from({ length: SUBMITTERS }, (_, n) => keepSubmitting(n));
  return {
    submitted,
    unanswered: () => unanswered,
    inFlight: () => inFlight,
    finish: async () => {
      finishing = true;
      await Promise.all(submitters);
    },
  };

  async function keepSubmitting(n: number): Promise<void> {
    while (!finishing) {
      const { program, decision, answers } = programs[Math.floor(Math.random() * programs.length)]!;
      const one: Submitted = { key: randomUUID(), program, decision, answers: [], refusals: [] };
      const body = {
        ...{ programCode: program, applicantRef: `ref-${one.key}` },
        ...(answers && { answers }),
      };
      submitted.push(one);
      const copies = Math.random() < SHARE_SENT_AGAIN ? 2 : 1;
      await Promise.all(Array.from({ length: copies }, () => untilAnswered(one, body, n)));
      if (Math.random() < SHARE_SENT_AGAIN) await untilAnswered(one, body, n);
      await sleep(PAUSE_MS.afterAnswer);
    }
  }

  async function untilAnswered(one: Submitted, body: Record<string, unknown>, n: number): Promise<void> {
    for (let attempt = n; ; attempt++) {
      const up = instances();
      const instance = up[attempt % up.length]!;
      const caller = clientOf({ baseUrl: `${instance.url}/applications/v1`, issuer });
      inFlight++;
      const answer = await submit(caller, { key: one.key, body }).catch(() => undefined);
      inFlight--;
      if (answer?.status === 201) {
        one.answers.push(JSON.stringify([answer.body, answer.headers['location']]));
        return;
      }
      const isToComeAgain =
        answer === undefined ||
        answer.status === 503 ||
        answer.body.code === 'idempotency_request_in_progress';
      if (!isToComeAgain) {
        one.refusals.push(`${answer.status} ${answer.body.code}`);
        return;
      }
      unanswered++;
      await sleep(PAUSE_MS.beforeAgain);
    }
  }
}
