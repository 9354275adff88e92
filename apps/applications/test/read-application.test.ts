import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { Got } from 'got';
import { clientOf, startService, type Service } from './support/start-service.ts';
import { get, submit, submitted } from './support/submission.ts';

let service: Service;
let client: Got;
let partner: Got;
beforeAll(async () => {
  service = await startService({ decide: false });
  client = clientOf(service);
  partner = clientOf(service, { clientId: 'other-partner' });
});
afterAll(() => service.stop());

const unknownId = 'app_01h455vb4pex5vsknk084sn02q';

describe.each(['', '/status', '/history'])('GET /applications/{applicationId}%s', (suffix) => {
  test('200 for the one who submitted and, by scope, for every client that is no partner', async () => {
    const applicationId = await submitted(partner);
    for (const clientId of ['other-partner', 'partner', 'portal']) {
      const reader = clientOf(service, { clientId, scopes: ['applications:read'] });
      expect((await get(reader, `applications/${applicationId}${suffix}`)).status).toBe(200);
    }
  });

  test("404 for a partner client on another's, in the very words of what does not exist", async () => {
    const applicationId = await submitted(client);
    const foreign = await get(partner, `applications/${applicationId}${suffix}`);
    const unknown = await get(partner, `applications/${unknownId}${suffix}`);
    expect(foreign.status).toBe(404);
    expect({ ...foreign.body, requestId: '' }).toEqual({ ...unknown.body, requestId: '' });
  });

  test.each([
    ['a well-formed id that is not known', unknownId],
    ['an id of another kind', 'sub_01h455vb4pex5vsknk084sn02q'],
    ['no id at all', 'x'],
    ['an id in capitals', unknownId.toUpperCase()],
    ['NUL', '%00'],
    ['an attempt at SQL', "app_'%20or%201=1--"],
  ])('404 for %s', async (_what, id) => {
    const { status, body } = await get(client, `applications/${id}${suffix}`);
    expect({ status, code: body.code }).toEqual({ status: 404, code: 'not_found' });
  });

  test('401 without a token, and 403 without the scope, also for what does not exist', async () => {
    const anonymous = client.extend({ headers: { authorization: undefined } });
    const writer = clientOf(service, { scopes: ['applications:write'] });
    expect((await get(anonymous, `applications/${unknownId}${suffix}`)).status).toBe(401);
    const { status, body } = await get(writer, `applications/${unknownId}${suffix}`);
    expect({ status, code: body.code }).toEqual({ status: 403, code: 'insufficient_scope' });
  });
});

test('an application is read as it was submitted', async () => {
  const { body } = await submit(client, { body: { declarationId: 'dec-1', answers: { secret: 'x' } } });
  expect((await get(client, `applications/${body.applicationId}`)).body).toEqual(body);
});

test('what is told of an application stays out of caches', async () => {
  const { headers } = await get(client, `applications/${await submitted(client)}`);
  expect(headers['cache-control']).toBe('no-store');
});
