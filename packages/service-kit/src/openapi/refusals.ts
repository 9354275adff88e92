import { errorStatus, type ErrorCode } from '@assistance/types';
import type { Route } from '../http/mount-routes.ts';
import type { Json } from './json-schemas.ts';

/** What every request can be refused with, whatever its operation; the same everywhere, so described once. */
const everywhere: ErrorCode[] = [
  'request_timeout',
  'payload_too_large',
  'uri_too_long',
  'expectation_failed',
  'headers_too_large',
  'internal_error',
];

/** The codes of the order of checks (interface-details 1) that a route can be refused with, and those of its verb. */
export function codesOf(route: Route): ErrorCode[] {
  const { scope, body, query, operation } = route;
  const codes: ErrorCode[] = ['bad_request', ...everywhere];
  if (scope !== 'none') codes.push('validation_error', 'token_missing', 'token_invalid', 'rate_limited');
  if (scope !== 'none') codes.push('unavailable');
  if (scope !== 'none' && scope !== 'any') codes.push('insufficient_scope');
  if (body !== undefined) codes.push('unsupported_media_type', 'malformed_json');
  if (query?.shape['cursor'] !== undefined) codes.push('invalid_cursor');
  return [...new Set([...codes, ...(operation?.errors ?? [])])];
}

/** The answers of a route that are no success, by status. */
export function refusalsOf(route: Route): Record<string, Json> {
  const { operation } = route;
  const specified = operation?.specified;
  const byStatus = Map.groupBy(codesOf(route), (code) => errorStatus[code]);
  return Object.fromEntries(
    [...byStatus]
      .sort(([a], [b]) => a - b)
      .map(([status, codes]) => [
        String(status),
        shared[status] === undefined
          ? {
              description: meaning[status] ?? 'Refused.',
              ...(specified !== undefined && !specified.errors.includes(status)
                ? { 'x-addition': true }
                : {}),
              ...refusal(codes),
            }
          : { $ref: `#/components/responses/${shared[status].name}` },
      ]),
  );
}

/** Of the statuses that the specification knows (7). */
const meaning: Record<number, string> = {
  400: 'Invalid request. All faults of the request are in `details`.',
  404: 'Resource not found, or not known to this caller.',
  409: 'Conflict.',
  422: 'Business rule violation.',
};

interface Shared {
  name: string;
  description: string;
  codes: ErrorCode[];
  headers?: Record<string, string>;
  specified?: boolean;
}

/** Statuses whose codes are the same wherever they appear. */
const shared: Record<number, Shared> = {
  401: {
    name: 'Unauthorized',
    description: 'Missing or invalid access token.',
    codes: ['token_missing', 'token_invalid'],
    headers: { 'WWW-Authenticate': 'The challenge (RFC 6750).' },
    specified: true,
  },
  403: {
    name: 'Forbidden',
    description: 'The token lacks the required scope.',
    codes: ['insufficient_scope'],
    headers: { 'WWW-Authenticate': 'The challenge, with the scope that is needed (RFC 6750).' },
    specified: true,
  },
  408: {
    name: 'RequestTimeout',
    description: 'The request did not arrive in time.',
    codes: ['request_timeout'],
  },
  413: {
    name: 'PayloadTooLarge',
    description: 'The body is larger than 256 KiB.',
    codes: ['payload_too_large'],
  },
  414: { name: 'UriTooLong', description: 'The address is longer than 8 KiB.', codes: ['uri_too_long'] },
  415: {
    name: 'UnsupportedMediaType',
    description: 'The body is not plain JSON in UTF-8.',
    codes: ['unsupported_media_type'],
  },
  417: {
    name: 'ExpectationFailed',
    description: 'The only expectation met is 100-continue.',
    codes: ['expectation_failed'],
  },
  429: {
    name: 'TooManyRequests',
    description: 'More requests than this client may send.',
    codes: ['rate_limited'],
    headers: {
      'Retry-After': 'Seconds to wait.',
      RateLimit: 'What is left in the window: nothing.',
      'RateLimit-Policy': 'How many requests there may be in a window.',
    },
  },
  431: {
    name: 'HeadersTooLarge',
    description: 'The headers are larger than 32 KiB.',
    codes: ['headers_too_large'],
  },
  500: { name: 'InternalError', description: 'A fault on our side.', codes: ['internal_error'] },
  503: {
    name: 'Unavailable',
    description: 'The service cannot answer at the moment.',
    codes: ['unavailable'],
    headers: { 'Retry-After': 'Seconds to wait.' },
  },
};

/** Those that at least one of the routes can give. */
export function sharedResponses(routes: Route[]): Record<string, Json> {
  const codesInUse = new Set(routes.flatMap(codesOf));
  const inUse = Object.values(shared).filter(({ codes }) => codes.some((code) => codesInUse.has(code)));
  return Object.fromEntries(
    inUse.map(({ name, description, codes, headers = {}, specified = false }) => [
      name,
      { description, ...(specified ? {} : { 'x-addition': true }), ...refusal(codes, headers) },
    ]),
  );
}

const refusal = (codes: ErrorCode[], headers: Record<string, string> = {}): Json => ({
  headers: {
    'X-Request-Id': { $ref: '#/components/headers/X-Request-Id' },
    'API-Version': { $ref: '#/components/headers/API-Version' },
    ...Object.fromEntries(
      Object.entries(headers).map(([name, description]) => [
        name,
        { description, required: true, schema: { type: 'string' } },
      ]),
    ),
  },
  content: {
    'application/json': {
      schema: { $ref: '#/components/schemas/Error', properties: { code: { enum: codes } } },
    },
  },
});
