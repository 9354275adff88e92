import { setTimeout as sleep } from 'node:timers/promises';
import got from 'got';
import { z } from 'zod';
import { getToken } from '../../platform/main-job.ts';
import type { Platform } from '../../platform/platform-file.ts';

export interface Call {
  method: 'get' | 'post' | 'patch' | 'delete';
  url: string;
  json?: Record<string, unknown>;
  headers?: Record<string, string>;
}
export interface Answer {
  status: number;
  body: unknown;
}

/** A partner's system that does not give up: it calls again until it has an answer. */
export interface Caller {
  /** Rejects only when the run is broken off. */
  untilAnswered(call: Call): Promise<Answer>;
  /** How many answers of each status came, `no answer` among them. */
  tally: Map<string, number>;
}

const attemptTimeoutMs = 10_000;
const pauseMs = { first: 100, most: 2_000 };
const tokenLastsMs = 300_000;
/** Says nothing about the request itself: the same again. */
const passing = new Set([401, 408, 425, 429, 500, 502, 503, 504]);
const refusal = z.object({ code: z.string() });

export function createCaller(platform: Platform, clientId: string, signal: AbortSignal): Caller {
  const secret = platform.clients.find((client) => client.clientId === clientId)?.clientSecret;
  if (secret === undefined) throw new Error(`The sandbox has no client "${clientId}" with a secret`);
  const tally = new Map<string, number>();
  let token: { text: string; until: number } | undefined;
  return { untilAnswered, tally };

  async function untilAnswered(call: Call): Promise<Answer> {
    for (let pause = pauseMs.first; ; pause = Math.min(pause * 2, pauseMs.most)) {
      signal.throwIfAborted();
      const answer = await attempt(call).catch(() => undefined);
      const shown = answer === undefined ? 'no answer' : String(answer.status);
      tally.set(shown, (tally.get(shown) ?? 0) + 1);
      if (answer?.status === 401) token = undefined;
      if (answer !== undefined && !isPassing(answer)) return answer;
      await sleep(pause * (0.5 + Math.random()), undefined, { signal });
    }
  }

  async function attempt({ method, url, json, headers = {} }: Call): Promise<Answer> {
    if (token === undefined || Date.now() > token.until) {
      token = { text: await getToken(platform, clientId, secret!), until: Date.now() + tokenLastsMs };
    }
    const { statusCode, body } = await got(url, {
      method,
      headers: { ...headers, authorization: `Bearer ${token.text}` },
      ...(json === undefined ? {} : { json }),
      throwHttpErrors: false,
      retry: { limit: 0 },
      timeout: { request: attemptTimeoutMs },
    });
    return { status: statusCode, body: body === '' ? undefined : (JSON.parse(body) as unknown) };
  }
}

/** A 409 that only says that the first attempt is still at work, too. */
const isPassing = ({ status, body }: Answer): boolean =>
  passing.has(status) || (status === 409 && codeOf(body) === 'idempotency_request_in_progress');

export const codeOf = (body: unknown): string => refusal.safeParse(body).data?.code ?? '';
