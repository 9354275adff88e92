import { ApiError, notFound, route, type Route } from '@assistance/service-kit';
import { inboxName, inboxWish } from './inbox-settings.ts';
import type { Inboxes } from './inboxes.ts';

/** Below `{callbackBase}/`, an inbox receives under its name. */
export function inboxRoutes({ inboxes, callbackBase }: { inboxes: Inboxes; callbackBase: string }): Route[] {
  const described = (name: string) => ({ name, callbackUrl: `${callbackBase}/${name}` });
  return [
    route({
      method: 'put',
      path: '/inboxes/:name',
      scope: 'any',
      body: inboxWish,
      bodyOptional: true,
      handle({ params: { name = '' }, body }) {
        if (!inboxName.test(name)) throw unusableName();
        return { status: 200, body: { ...described(name), ...inboxes.put(name, body).describe() } };
      },
    }),
    route({
      method: 'get',
      path: '/inboxes/:name',
      scope: 'any',
      handle({ params: { name = '' } }) {
        const inbox = inboxes.find(name);
        if (inbox === undefined) throw notFound('inbox');
        return { status: 200, body: { ...described(name), ...inbox.describe(), received: inbox.received() } };
      },
    }),
    route({
      method: 'delete',
      path: '/inboxes/:name',
      scope: 'any',
      handle({ params: { name = '' } }) {
        if (!inboxes.delete(name)) throw notFound('inbox');
        return { status: 204 };
      },
    }),
  ];
}

const unusableName = (): ApiError =>
  new ApiError('validation_error', 'The name of an inbox cannot be used; see details.', {
    details: [
      {
        parameter: 'name',
        code: 'invalid_format',
        message:
          'must be 1 to 64 letters, digits, dots, hyphens and underscores, the first a letter or digit',
      },
    ],
  });
