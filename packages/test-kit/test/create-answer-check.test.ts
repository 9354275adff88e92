import { expect, test } from '@jest/globals';
import { createAnswerCheck } from '../src/create-answer-check.ts';

const document = {
  openapi: '3.1.0',
  paths: {
    '/things/{id}': {
      get: {
        responses: {
          200: { content: { 'application/json': { schema: { $ref: '#/components/schemas/Thing' } } } },
          204: {},
          404: { $ref: '#/components/responses/Missing' },
        },
      },
    },
  },
  components: {
    schemas: {
      Thing: {
        type: 'object',
        properties: { id: { type: 'string', format: 'uuid' }, size: { $ref: '#/components/schemas/Size' } },
        required: ['id'],
      },
      Size: { type: 'integer', minimum: 1 },
    },
    responses: {
      Missing: {
        content: {
          'application/json': { schema: { type: 'object', properties: { code: { enum: ['none'] } } } },
        },
      },
    },
  },
};
const id = '7d7ad3c2-27f1-4b25-9e2b-7c5a5ffdfb7d';
const faultsOf = (status: number, body: unknown, contentType = 'application/json; charset=utf-8') =>
  createAnswerCheck(document).faultsOf('GET', '/things/1?x=2', { status, body, contentType });

test('an answer as described has no fault, and is counted as seen', () => {
  const check = createAnswerCheck(document);
  const contentType = 'application/json';
  expect(check.faultsOf('get', '/things/1', { status: 200, contentType, body: { id, size: 1 } })).toEqual([]);
  expect(check.faultsOf('get', '/things/1', { status: 404, contentType, body: { code: 'none' } })).toEqual(
    [],
  );
  expect(check.faultsOf('get', '/things/1', { status: 204, contentType: undefined, body: '' })).toEqual([]);
  expect([...check.seen]).toEqual(['get /things/{id} 200', 'get /things/{id} 404', 'get /things/{id} 204']);
});

test.each([
  ['a field of another type', 200, { id, size: 'large' }],
  ['a value out of bounds behind a reference', 200, { id, size: 0 }],
  ['a value of another format', 200, { id: 'one' }],
  ['a field that is missing', 200, {}],
  ['a field that is not named', 200, { id, colour: 'red' }],
  ['an error code that is not named', 404, { code: 'gone' }],
  ['a status that is not named', 500, { code: 'none' }],
  ['a body where none is', 204, { id }],
])('%s is a fault', (_what, status, body) => {
  expect(faultsOf(status, body)).toHaveLength(1);
});

test('another media type is a fault', () => {
  expect(faultsOf(200, '<p>', 'text/html')).toHaveLength(1);
});

test('an operation that is not described may only be refused as unknown', () => {
  const check = createAnswerCheck(document);
  const answered = (method: string, path: string, status: number) =>
    check.faultsOf(method, path, { status, contentType: 'application/json', body: {} });
  expect(answered('PUT', '/things/1', 405)).toEqual([]);
  expect(answered('GET', '/nothing', 404)).toEqual([]);
  expect(answered('PUT', '/things/1', 200)).toHaveLength(1);
  expect(answered('GET', '/nothing', 200)).toHaveLength(1);
});
