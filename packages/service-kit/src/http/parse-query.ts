import type { z } from 'zod';
import type { ErrorDetail } from '@assistance/types';
import { ApiError } from './api-error.ts';
import { shapeFaults } from './shape-faults.ts';

/**
 * The query of a request in the shape that its route names. An unknown, repeated or empty parameter is a fault with its
 * name: a filter that is misspelt must not list everything.
 */
export function parseQuery<T extends z.ZodObject>(schema: T, url: string): z.output<T> {
  const start = url.indexOf('?');
  const given = new URLSearchParams(start === -1 ? '' : url.slice(start + 1));
  const faults: ErrorDetail[] = [];
  const report = (parameter: string, code: string, message: string): void => {
    faults.push({ parameter, code, message });
  };
  for (const name of new Set(given.keys())) {
    const values = given.getAll(name);
    if (!Object.hasOwn(schema.shape, name))
      report(name, 'unknown_parameter', 'is not a parameter of this operation');
    else if (values.length > 1) report(name, 'repeated_parameter', 'must be given once');
    else if (values[0] === '')
      report(name, name === 'cursor' ? 'invalid_cursor' : 'empty_parameter', 'must not be empty');
  }
  const parsed = schema.safeParse(Object.fromEntries(given));
  if (!parsed.success) {
    for (const { pointer, code, message } of shapeFaults(parsed.error, Object.fromEntries(given))) {
      const parameter = pointer?.slice(1) ?? '';
      if (!faults.some((fault) => fault.parameter === parameter)) report(parameter, code, message);
    }
  }
  if (faults.length === 0) return parsed.data as z.output<T>;
  throw faults.every((fault) => fault.code === 'invalid_cursor')
    ? invalidCursor()
    : new ApiError('validation_error', 'The query is not as this operation needs it; see details.', {
        details: faults,
      });
}

export const invalidCursor = (): ApiError =>
  new ApiError(
    'invalid_cursor',
    'The cursor is not one that this list gave out for these filters. Begin again without it.',
    {
      details: [
        { parameter: 'cursor', code: 'invalid_cursor', message: 'must be a nextCursor of the same list' },
      ],
    },
  );
