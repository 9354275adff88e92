import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { errorBody } from '@assistance/types';
import { route } from '../src/index.ts';
import { rawRequest, type RawAnswer } from './support/raw-request.ts';
import { startApi, type Api } from './support/start-api.ts';

let api: Api;
let token: string;
beforeAll(async () => {
  const handle = ({ caller }: { caller: { clientId: string } }) => ({
    status: 200,
    body: { is: caller.clientId },
  });
  api = await startApi([
    route({ method: 'get', path: '/things', scope: 'any', handle }),
    route({ method: 'get', path: '/page', scope: 'none', handle: () => ({ status: 200, body: 'a page' }) }),
  ]);
  token = api.issuer.token({ clientId: 'partner' });
});
afterAll(() => api.stop());

const get = (headers: string[], path = '/things'): Promise<RawAnswer> =>
  rawRequest(api.port, [`GET /things/v1${path} HTTP/1.1`, 'Host: x', ...headers, '', ''].join('\r\n'));

describe('is taken:', () => {
  test.each<[string, (token: string) => string]>([
    ['the scheme as it is written', (token) => `Authorization: Bearer ${token}`],
    ['the scheme in another case', (token) => `authorization: bEARER ${token}`],
    ['more than one space', (token) => `Authorization: Bearer   ${token}`],
    ['white space around it', (token) => `Authorization: \t Bearer ${token} \t`],
  ])('%s', async (_what, header) => {
    expect((await get([header(token)])).json()).toEqual({ is: 'partner' });
  });
});

describe('is 401 token_missing, and the challenge names no error:', () => {
  test.each<[string, (token: string) => string[]]>([
    ['no header', () => []],
    ['an empty header', () => ['Authorization:']],
    ['the scheme alone', () => ['Authorization: Bearer']],
    ['the scheme and a space', () => ['Authorization: Bearer ']],
    ['a token without a scheme', (token) => [`Authorization: ${token}`]],
    ['another scheme', (token) => [`Authorization: Basic ${token}`]],
    ['a scheme that begins alike', (token) => [`Authorization: BearerX ${token}`]],
    ['a scheme with a colon', (token) => [`Authorization: Bearer: ${token}`]],
    ['a tab for the space', (token) => [`Authorization: Bearer\t${token}`]],
    ['two tokens in one header', (token) => [`Authorization: Bearer ${token} ${token}`]],
    ['two schemes in one header', (token) => [`Authorization: Bearer ${token}, Basic eDp5`]],
    ['two headers', (token) => [`Authorization: Bearer ${token}`, 'Authorization: Bearer other']],
    ['two equal headers', (token) => [`Authorization: Bearer ${token}`, `Authorization: Bearer ${token}`]],
    ['a token in a cookie', (token) => [`Cookie: access_token=${token}`]],
    ['a token of a proxy', (token) => [`Proxy-Authorization: Bearer ${token}`]],
  ])('%s', async (_what, headers) => {
    const answer = await get(headers(token));
    expect([answer.status, answer.json()['code']]).toEqual([401, 'token_missing']);
    expect(answer.headers['www-authenticate']).toBe('Bearer realm="assistance"');
  });

  test('a token in the query, which is never read', async () => {
    expect((await get([], `/things?access_token=${token}`)).json()['code']).toBe('token_missing');
  });
});

describe('is 401 token_invalid, and says nothing of what was sent:', () => {
  test.each<[string, (token: string) => string]>([
    ['a word', () => 'jane.secret'],
    ['a token in quotes', (token) => `"${token}"`],
    ['a token in angle brackets', (token) => `<${token}>`],
    ['a token with a comma', (token) => `${token},`],
    ['a token with padding', (token) => `${token}==`],
    ['a token of four parts', (token) => `${token}.x`],
    ['a token of five parts, as if encrypted', (token) => `${token}.x.y`],
    ['the other alphabet', (token) => token.replace('.', '.+/')],
    ['a token with a byte beyond ASCII', (token) => `${token}\u00fc`],
    ['20 KiB of dots', () => '.'.repeat(20_000)],
    ['20 KiB of a header', () => `${'A'.repeat(20_000)}.e30.e30`],
  ])('%s', async (_what, text) => {
    const answer = await get([`Authorization: Bearer ${text(token)}`]);
    const body = errorBody.strict().parse(answer.json());
    expect([answer.status, body.code]).toEqual([401, 'token_invalid']);
    expect(answer.headers['www-authenticate']).toBe('Bearer realm="assistance", error="invalid_token"');
    expect(body.message).not.toContain('jane');
  });
});

test('where no token is needed none is judged', async () => {
  expect((await get(['Authorization: Bearer nonsense'], '/page')).status).toBe(200);
});
