import type { z } from 'zod';
import type { ErrorDetail } from '@assistance/types';
import { pointerToken } from './json-faults.ts';

/** zod's issues as details with JSON Pointers. Messages name what is expected, never what was sent. */
export function shapeFaults(error: z.ZodError, input: unknown): ErrorDetail[] {
  return error.issues.flatMap((issue) => faultsOfIssue(issue, input));
}

function faultsOfIssue(issue: z.core.$ZodIssue, input: unknown): ErrorDetail[] {
  const pointer = pointerOf(issue.path);
  if (issue.code === 'unrecognized_keys') {
    return issue.keys.map((key) => ({
      pointer: `${pointer}/${pointerToken(key)}`,
      code: 'unknown_field',
      message: 'is not a field of this body',
    }));
  }
  if (issue.code === 'invalid_type' && valueAt(input, issue.path) === undefined) {
    return [{ pointer, code: 'required', message: 'is required' }];
  }
  return [{ pointer, code: codeOf(issue), message: messageOf(issue) }];
}

function codeOf(issue: z.core.$ZodIssue): string {
  switch (issue.code) {
    case 'invalid_type':
      return 'invalid_type';
    case 'too_big':
      return 'too_long';
    case 'too_small':
      return 'too_short';
    case 'invalid_format':
      return 'invalid_format';
    default:
      return 'invalid_value';
  }
}

function messageOf(issue: z.core.$ZodIssue): string {
  if (issue.code === 'invalid_type') return `must be ${article(issue.expected)}`;
  if (issue.code === 'invalid_value') return `must be one of ${issue.values.map(String).join(', ')}`;
  // The format checks of zod say what was expected only in general terms.
  if (issue.code === 'invalid_format' && issue.message.startsWith('Invalid'))
    return `must be a valid ${issue.format}`;
  return issue.message;
}

const article = (type: string): string =>
  type === 'record' ? 'an object' : /^[aeiou]/.test(type) ? `an ${type}` : `a ${type}`;

const pointerOf = (path: readonly PropertyKey[]): string =>
  path.map((step) => `/${pointerToken(String(step))}`).join('');

const valueAt = (input: unknown, path: readonly PropertyKey[]): unknown =>
  path.reduce<unknown>(
    (value, step) =>
      typeof value === 'object' && value !== null ? (value as Record<PropertyKey, unknown>)[step] : undefined,
    input,
  );
