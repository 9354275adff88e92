import got from 'got';
import { z } from 'zod';
import { notFound, route, unavailable, type Route } from '@assistance/service-kit';

/** The supervisor answers when the process is gone, or has been started again; Kafka takes its time. */
const SUPERVISOR_TIMEOUT_MS = 60_000;

const answer = z.record(z.string(), z.unknown());

/** Keeps a process of the local platform away, or lets it come back; whoever started the platform does it. */
export function processRoutes({ supervisorUrl }: { supervisorUrl: string | undefined }): Route[] {
  return [
    route({
      method: 'post',
      path: '/processes/:name',
      scope: 'any',
      body: z.strictObject({ hold: z.boolean() }),
      async handle({ params: { name = '' }, body }) {
        if (supervisorUrl === undefined) throw notFound('process');
        const response = await got
          .post(`${supervisorUrl}/processes/${encodeURIComponent(name)}`, {
            json: body,
            throwHttpErrors: false,
            retry: { limit: 0 },
            timeout: { request: SUPERVISOR_TIMEOUT_MS },
          })
          .catch((error: unknown) => {
            throw unavailable(error);
          });
        if (response.statusCode === 404) throw notFound('process');
        if (!response.ok) throw unavailable();
        return { status: 200, body: bodyOf(response.body) ?? { name, hold: body.hold } };
      },
    }),
  ];
}

function bodyOf(text: string): Record<string, unknown> | undefined {
  try {
    return answer.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}
