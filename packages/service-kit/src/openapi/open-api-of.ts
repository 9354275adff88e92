import { errorBody, scopeGrants, scopes } from '@assistance/types';
import type { z } from 'zod';
import type { Route } from '../http/mount-routes.ts';
import { API_VERSION } from '../http/request-context.ts';
import { jsonSchemaOf, namedSchemas, type Json } from './json-schemas.ts';
import type { Description, Operation } from './operation.ts';
import { refusalsOf, sharedResponses } from './refusals.ts';

export interface OpenApiDocument extends Json {
  paths: Record<string, Record<string, Json>>;
}

/**
 * A table of routes as an OpenAPI 3.1 document, from the schemas that run. What is not in the specification has
 * `x-addition: true`; the refusals of the order of checks follow from what a route has.
 */
export function openApiOf(description: Description, routes: Route[]): OpenApiDocument {
  const answers = namedSchemas({ ...description.schemas.answers, Error: errorBody }, 'output');
  const bodies = namedSchemas(description.schemas.bodies ?? {}, 'input');
  const paths: OpenApiDocument['paths'] = {};
  for (const route of routes) {
    (paths[templateOf(route.path)] ??= {})[route.method] = operationOf(route, answers.of, bodies.of);
  }
  return {
    openapi: '3.1.0',
    info: {
      title: description.title,
      version: API_VERSION,
      description: description.summary,
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: description.basePath }],
    tags: Object.entries(description.tags).map(([name, text]) => ({ name, description: text })),
    paths,
    ...(description.webhooks === undefined ? {} : { webhooks: description.webhooks }),
    components: {
      securitySchemes: { token: tokenScheme(routes) },
      headers,
      responses: sharedResponses(routes),
      schemas: { ...answers.schemas, ...bodies.schemas },
    },
  };
}

/** Specification 5.1; which address gives tokens out is the deployment's. */
const tokenScheme = (routes: Route[]): Json => ({
  type: 'oauth2',
  description:
    'A bearer token of the client-credentials flow. The address is that of the sandbox; an agency has an identity provider of its own.',
  flows: {
    clientCredentials: {
      tokenUrl: '/auth/token',
      scopes: Object.fromEntries(
        scopes
          .filter((each) => routes.some(({ scope }) => scope === each))
          .map((each) => [each, scopeGrants[each]]),
      ),
    },
  },
});

/** `/applications/:applicationId` as `/applications/{applicationId}`. */
export const templateOf = (path: string): string => path.replaceAll(/:(\w+)/g, '{$1}');

type Of = (schema: z.ZodType) => Json;

function operationOf(route: Route, answerOf: Of, bodyOf: Of): Json {
  const { operation, method, path, scope, body } = route;
  if (operation === undefined) throw new Error(`${method} ${path} is not described`);
  const parameters = parametersOf(route, operation);
  return {
    operationId: operation.id,
    tags: [operation.tag],
    summary: operation.summary,
    ...(operation.description === undefined ? {} : { description: operation.description }),
    ...(operation.specified === undefined ? { 'x-addition': true } : {}),
    security: scope === 'none' ? [] : [{ token: scope === 'any' ? [] : [scope] }],
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(body === undefined
      ? {}
      : {
          requestBody: {
            required: route.bodyOptional !== true,
            content: {
              'application/json': {
                schema: bodyOf(body),
                ...(operation.example === undefined ? {} : { example: operation.example }),
              },
            },
          },
        }),
    responses: { ...successesOf(route, operation, answerOf), ...refusalsOf(route) },
  };
}

function parametersOf(route: Route, operation: Operation): Json[] {
  const meaningOf = (name: string): string => {
    const meaning = operation.parameters?.[name] ?? wellKnown[name];
    if (meaning === undefined) throw new Error(`${operation.id}: the parameter ${name} is not described`);
    return meaning;
  };
  const { properties = {}, required = [] } = (
    route.query === undefined ? {} : jsonSchemaOf(route.query, 'input')
  ) as { properties?: Record<string, Json>; required?: string[] };
  return [
    ...[...route.path.matchAll(/:(\w+)/g)].map(([, name = '']) => ({
      name,
      in: 'path',
      required: true,
      description: meaningOf(name),
      schema: { type: 'string' },
    })),
    ...Object.entries(properties).map(([name, schema]) => ({
      name,
      in: 'query',
      required: required.includes(name),
      description: meaningOf(name),
      schema: name === 'limit' ? limit : notEmpty(schema),
    })),
    ...Object.entries(operation.headers ?? {}).map(([name, header]) => ({
      name,
      in: 'header',
      required: header.required === true,
      description: header.description,
      ...(isSpecified(operation, name) ? {} : { 'x-addition': true }),
      schema: jsonSchemaOf(header.schema, 'input'),
    })),
  ];
}

/** True for what needs no mark: the specification lists it, or the whole operation is marked. */
const isSpecified = ({ specified }: Operation, header: string): boolean =>
  specified === undefined || specified.headers?.includes(header) === true;

const wellKnown: Record<string, string> = {
  cursor: '`page.nextCursor` of a previous answer with the same filters.',
  limit: 'The size of a page; more than 200 is applied as 200.',
};

/** No parameter may be empty, whatever it is. */
const notEmpty = (schema: Json): Json =>
  schema['type'] !== 'string' || 'enum' in schema || 'pattern' in schema
    ? schema
    : { minLength: 1, ...schema };

/** A query is text: the schema that runs is one of digits. */
const limit = { type: 'integer', minimum: 1, maximum: 999_999_999, default: 50 };

function successesOf({ scope }: Route, operation: Operation, answerOf: Of): Record<string, Json> {
  return Object.fromEntries(
    Object.entries(operation.answers).map(([status, answer]) => [
      status,
      {
        description: answer.description,
        headers: {
          'X-Request-Id': { $ref: '#/components/headers/X-Request-Id' },
          'API-Version': { $ref: '#/components/headers/API-Version' },
          ...(scope === 'none'
            ? {}
            : {
                RateLimit: { $ref: '#/components/headers/RateLimit' },
                'RateLimit-Policy': { $ref: '#/components/headers/RateLimit-Policy' },
              }),
          ...Object.fromEntries(
            Object.entries(answer.headers ?? {}).map(([name, meaning]) => [
              name,
              {
                ...(typeof meaning === 'string'
                  ? { description: meaning, required: true }
                  : { description: meaning.sometimes }),
                ...(operation.specified === undefined ? {} : { 'x-addition': true }),
                schema: { type: 'string' },
              },
            ]),
          ),
        },
        ...(answer.schema === undefined
          ? {}
          : { content: { [answer.contentType ?? 'application/json']: { schema: answerOf(answer.schema) } } }),
      },
    ]),
  );
}

const headers = {
  'X-Request-Id': {
    description:
      'Identifies the request; quote it when contacting support. A uuid that was sent is taken over.',
    required: true,
    schema: { type: 'string', format: 'uuid' },
  },
  'API-Version': {
    description: 'The version of the interface.',
    'x-addition': true,
    required: true,
    schema: { type: 'string', const: API_VERSION },
  },
  RateLimit: {
    description: 'What is left in the window (draft-ietf-httpapi-ratelimit-headers-08).',
    'x-addition': true,
    required: true,
    schema: { type: 'string' },
  },
  'RateLimit-Policy': {
    description: 'How many requests there may be in a window.',
    'x-addition': true,
    required: true,
    schema: { type: 'string' },
  },
};
