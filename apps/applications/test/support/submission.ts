import { randomUUID } from 'node:crypto';
import { waitUntil } from '@assistance/test-kit';
import type { Got, OptionsInit } from 'got';

export interface SubmitOptions {
  key?: string;
  headers?: Record<string, string>;
  /** Replaces fields of a good body; undefined leaves one out. */
  body?: Record<string, unknown>;
}

/** A good body, changed as asked. */
export const submissionBody = (changes: Record<string, unknown> = {}): Record<string, unknown> => ({
  programCode: 'ANY-PROGRAM',
  channel: 'web',
  applicantRef: `ref-${randomUUID()}`,
  ...changes,
});

export interface JsonAnswer {
  status: number;
  headers: Record<string, string | string[] | undefined>;
  body: any;
}

export async function submit(client: Got, options: SubmitOptions = {}): Promise<JsonAnswer> {
  const { key = randomUUID(), headers = {}, body = {} } = options;
  return post(client, 'applications', {
    headers: { 'idempotency-key': key, ...headers },
    json: submissionBody(body),
  });
}

export async function post(client: Got, path: string, options: OptionsInit = {}): Promise<JsonAnswer> {
  return answerOf(await client.post(path, options as { json?: unknown }));
}

export async function get(
  client: Got,
  path: string,
  headers: Record<string, string> = {},
): Promise<JsonAnswer> {
  return answerOf(await client.get(path, { headers }));
}

function answerOf(response: unknown): JsonAnswer {
  const { statusCode, headers, body } = response as {
    statusCode: number;
    headers: JsonAnswer['headers'];
    body: unknown;
  };
  return { status: statusCode, headers, body };
}

/** The id of an application that was just submitted. */
export async function submitted(client: Got, body: Record<string, unknown> = {}): Promise<string> {
  const answer = await submit(client, { body });
  if (answer.status !== 201) throw new Error(`refused: ${JSON.stringify(answer.body)}`);
  return answer.body.applicationId;
}

export const untilStatus = (client: Got, applicationId: string, status: string) =>
  waitUntil(async () => {
    const { body } = await get(client, `applications/${applicationId}`);
    if (body.status !== status) throw new Error(`it is ${body.status}`);
    return body;
  });

/** Submits and waits until it is decided so far. */
export async function submittedAnd(
  client: Got,
  status: string,
  body: Record<string, unknown> = {},
): Promise<string> {
  const applicationId = await submitted(client, body);
  await untilStatus(client, applicationId, status);
  return applicationId;
}
