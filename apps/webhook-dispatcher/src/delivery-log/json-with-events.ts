import type { Answer } from '@assistance/service-kit';

/**
 * A 200 whose bytes stand for events, which go into the JSON as they are: a second serializer could change a number or
 * drop what it does not know, and what is shown is what is sent. The log holds nothing that is not JSON.
 */
export const jsonWithEvents = (body: object): Answer => ({
  status: 200,
  headers: { 'Content-Type': 'application/json; charset=utf-8' },
  body: textOf(body),
});

function textOf(value: unknown): string {
  if (value instanceof Uint8Array) return new TextDecoder().decode(value); // without a byte order mark
  if (Array.isArray(value)) return `[${value.map(textOf).join(',')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  return `{${Object.entries(value)
    .map(([name, each]) => `${JSON.stringify(name)}:${textOf(each)}`)
    .join(',')}}`;
}
