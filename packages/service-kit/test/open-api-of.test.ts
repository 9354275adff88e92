import { expect, test } from '@jest/globals';
import { z } from 'zod';
import { descriptionOf, describedRoutes } from '../src/openapi/description-routes.ts';
import { openApiOf } from '../src/openapi/open-api-of.ts';
import type { Description, Operation } from '../src/openapi/operation.ts';
import { pageQuery } from '../src/http/page-query.ts';
import { route, type Route } from '../src/http/mount-routes.ts';

const thing = z.object({
  id: z.string(),
  at: z.iso.datetime({ precision: 3 }),
  owner: z.string().nullable(),
});
const newThing = z.strictObject({
  size: z.int().max(9),
  colour: z.string().nullish().meta({ 'x-addition': true }),
});
const description: Description = {
  title: 'Things <&>',
  summary: 'All of them, also `<b>`.',
  basePath: '/things/v1',
  tags: { Things: 'What there is.' },
  schemas: { answers: { Thing: thing, Things: z.array(thing) }, bodies: { NewThing: newThing } },
};
const operation = (changes: Partial<Operation> = {}): Operation => ({
  id: 'doThing',
  tag: 'Things',
  summary: 'Do it',
  answers: { 200: { description: 'Done.', schema: thing } },
  ...changes,
});
const handle = () => ({ status: 200 });
const post = (changes: Partial<Route> = {}): Route => ({
  ...route({ method: 'post', path: '/things/:id', scope: 'events:manage', body: newThing, handle }),
  operation: operation({
    parameters: { id: 'Which one.' },
    specified: { errors: [401, 404] },
    errors: ['not_found'],
  }),
  ...changes,
});
const described = (one: Route): any =>
  openApiOf(description, [one]).paths[one.path.replace(/:(\w+)/, '{$1}')]?.[one.method];

test('the refusals follow from what a route has', () => {
  const statuses = (changes: Partial<Route>) => Object.keys(described(post(changes)).responses);
  const everywhere = ['200', '400', '404', '408', '413', '414', '417', '431', '500'];
  expect(statuses({})).toEqual([...everywhere, '401', '403', '415', '429', '503'].toSorted());
  expect(statuses({ scope: 'any' })).not.toContain('403');
  expect(statuses({ scope: 'none' })).toEqual([...everywhere, '415'].toSorted());
  expect(Object.keys(described({ ...bodiless, scope: 'any' }).responses)).not.toContain('415');
});

test('a refusal names the codes that it can have', () => {
  const codes = (one: Route) =>
    described(one).responses['400'].content['application/json'].schema.properties.code.enum;
  expect(codes(post())).toEqual(['bad_request', 'validation_error', 'malformed_json']);
  expect(codes(bodiless)).toEqual(['bad_request', 'validation_error', 'invalid_cursor']);
});

const bodiless = route({
  method: 'get',
  path: '/things',
  scope: 'events:manage',
  query: pageQuery.extend({ colour: z.enum(['red', 'blue']) }),
  operation: operation({ parameters: { colour: 'Of this colour.' } }),
  handle,
});

test('parameters come from the path and the schema of the query', () => {
  expect(described(post()).parameters).toMatchObject([{ name: 'id', in: 'path', required: true }]);
  expect(described(bodiless).parameters).toMatchObject([
    { name: 'cursor', in: 'query', required: false, schema: { type: 'string' } },
    { name: 'limit', required: false, schema: { type: 'integer', minimum: 1, default: 50 } },
    { name: 'colour', required: true, schema: { enum: ['red', 'blue'] }, description: 'Of this colour.' },
  ]);
});

test('a status that the specification does not list for an operation of its own is marked', () => {
  const { responses, ...rest } = described(post());
  expect(rest).not.toHaveProperty('x-addition');
  expect(responses['400']).toHaveProperty('x-addition', true);
  expect(responses['404']).not.toHaveProperty('x-addition');
  expect(described(bodiless)).toHaveProperty('x-addition', true);
});

test('a body may have no further field, an answer may get some later; names become references', () => {
  const document = openApiOf(description, [post()]) as any;
  expect(document.components.schemas.NewThing).toEqual({
    type: 'object',
    properties: {
      size: { type: 'integer', maximum: 9 },
      colour: { type: ['string', 'null'], 'x-addition': true },
    },
    required: ['size'],
    additionalProperties: false,
  });
  expect(document.components.schemas.Thing).toEqual({
    type: 'object',
    properties: {
      id: { type: 'string' },
      at: { type: 'string', format: 'date-time', pattern: String.raw`\.\d{3}Z$` },
      owner: { type: ['string', 'null'] },
    },
    required: ['id', 'at', 'owner'],
  });
  expect(document.components.schemas.Things.items).toEqual({ $ref: '#/components/schemas/Thing' });
  expect(described(post()).responses['200'].content['application/json'].schema).toEqual({
    $ref: '#/components/schemas/Thing',
  });
});

test('what is not described is refused', () => {
  const { operation: _none, ...undescribed } = post();
  expect(() => described(undescribed)).toThrow('post /things/:id is not described');
  expect(() => described(post({ operation: operation() }))).toThrow('the parameter id is not described');
});

test('the page escapes what it shows', async () => {
  const routes = describedRoutes(description, [post()]);
  expect(Object.keys(descriptionOf(description, routes).paths)).toEqual([
    '/things/{id}',
    '/openapi.json',
    '/docs',
  ]);
  const page = await routes.at(-1)?.handle({} as never);
  expect(page?.body).toContain('<h1>Things &lt;&amp;&gt; 1.0.0</h1>');
  expect(page?.body).toContain('All of them, also <code>&lt;b&gt;</code>.');
});
