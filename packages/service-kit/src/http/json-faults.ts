import type { ErrorDetail } from '@assistance/types';

const MAX_NESTING = 32;

/**
 * What no body may have, whatever its schema (interface-details 1): nesting beyond 32 (the root is the first level),
 * `__proto__` as a key, NUL, lone surrogates, and numbers that JSON cannot carry exactly.
 */
export function jsonFaults(root: unknown): ErrorDetail[] {
  const faults: ErrorDetail[] = [];
  const report = (pointer: string, code: string, message: string): void => {
    faults.push({ pointer, code, message });
  };
  const visit = (value: unknown, pointer: string, level: number): void => {
    if (typeof value === 'string') {
      const fault = textFault(value);
      if (fault !== undefined) report(pointer, 'invalid_text', fault);
    } else if (typeof value === 'number') {
      if (!Number.isFinite(value) || (Number.isInteger(value) && !Number.isSafeInteger(value))) {
        report(pointer, 'inexact_number', 'must be a number that JSON carries exactly');
      }
    } else if (typeof value === 'object' && value !== null) {
      if (level > MAX_NESTING) {
        report(pointer, 'too_deep', `must not be nested deeper than ${MAX_NESTING} levels`);
        return;
      }
      for (const [key, item] of Object.entries(value)) {
        if (key === '__proto__' || textFault(key) !== undefined) {
          report(pointer, 'invalid_key', 'has a key that is not allowed');
          continue;
        }
        visit(item, `${pointer}/${pointerToken(key)}`, level + 1);
      }
    }
  };
  visit(root, '', 1);
  return faults;
}

function textFault(text: string): string | undefined {
  if (text.includes('\0')) return 'must not contain NUL';
  if (!text.isWellFormed()) return 'must not contain a lone surrogate';
  return undefined;
}

/** One step of a JSON Pointer (RFC 6901). */
export const pointerToken = (key: string): string => key.replaceAll('~', '~0').replaceAll('/', '~1');
