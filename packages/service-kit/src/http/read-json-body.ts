import { parse as parseContentType } from 'content-type';
import type { Request } from 'express';
import getRawBody from 'raw-body';
import { ApiError } from './api-error.ts';
import { hasNameTwice } from './has-name-twice.ts';
import { MAX_BODY_BYTES, payloadTooLarge } from './http-server.ts';

/** True when the request brings a body at all (RFC 9112, section 6). */
export const hasBody = (request: Request): boolean =>
  request.headers['transfer-encoding'] !== undefined || Number(request.headers['content-length'] ?? 0) > 0;

/** How large the body is, or may become. */
export const bodyBytes = (request: Request): number =>
  request.headers['content-length'] === undefined
    ? MAX_BODY_BYTES
    : Number(request.headers['content-length']);

/** Refuses, before a byte of the body is read, what is not plain JSON in UTF-8 (415). */
export function requireJson(request: Request): void {
  const refuse = (message: string): never => {
    throw new ApiError('unsupported_media_type', message, { headers: { Accept: 'application/json' } });
  };
  const encoding = request.headers['content-encoding'];
  if (encoding !== undefined && encoding.trim().toLowerCase() !== 'identity') {
    refuse('Send the body without a content encoding.');
  }
  const [header, ...more] = request.headersDistinct['content-type'] ?? [];
  if (more.length > 0) refuse('Say once what the body is.');
  if (header === undefined) return refuse('Say what the body is with Content-Type: application/json.');
  const { type, parameters } = parseContentType(header);
  if (type.toLowerCase() !== 'application/json') refuse('The body must be application/json.');
  const charset = parameters['charset'];
  if (charset !== undefined && charset.toLowerCase() !== 'utf-8') refuse('The body must be in UTF-8.');
}

/** Reads the body, at most 256 KiB, and parses it. The text of a broken body is never repeated. */
export async function readJsonBody(request: Request): Promise<unknown> {
  const bytes = await getRawBody(request, { limit: MAX_BODY_BYTES }).catch((error: unknown) => {
    const type = error instanceof Error && 'type' in error ? error.type : undefined;
    if (type === 'entity.too.large') throw payloadTooLarge();
    throw new ApiError('bad_request', 'The body ended before it was complete.', { cause: error });
  });
  const { json, value } = parse(bytes);
  if (hasNameTwice(json)) throw new ApiError('malformed_json', 'An object in the body has a name twice.');
  return value;
}

function parse(bytes: Buffer): { json: string; value: unknown } {
  try {
    const json = new TextDecoder('utf-8', { fatal: true, ignoreBOM: false }).decode(bytes);
    return { json, value: JSON.parse(json) as unknown };
  } catch {
    throw new ApiError('malformed_json', 'The body is not JSON in UTF-8.');
  }
}
