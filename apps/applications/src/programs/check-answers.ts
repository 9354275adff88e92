import { Ajv2020, type ErrorObject, type ValidateFunction } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import type { ErrorDetail } from '@assistance/types';
import { pointerToken } from '@assistance/service-kit';

const MAX_FAULTS = 100;

export type AnswersCheck = (answers: Record<string, unknown>) => ErrorDetail[];

/** A check of `answers` against a JSON Schema 2020-12. Throws, saying why, when the schema itself is not sound. */
export function createAnswersCheck(schema: Record<string, unknown>): AnswersCheck {
  const ajv = new Ajv2020({ allErrors: true, strict: true, allowUnionTypes: true, ownProperties: true });
  addFormats.default(ajv);
  const validate: ValidateFunction = ajv.compile(schema);
  return (answers) => (validate(answers) ? [] : (validate.errors ?? []).slice(0, MAX_FAULTS).map(faultOf));
}

/** Messages say what the schema wants, never what was sent. */
function faultOf({ instancePath, keyword, params, message }: ErrorObject): ErrorDetail {
  const pointer = `/answers${instancePath}`;
  const child = (name: unknown): string => `${pointer}/${pointerToken(String(name))}`;
  switch (keyword) {
    case 'required':
    case 'dependentRequired':
      return { pointer: child(params['missingProperty']), code: 'required', message: 'is required' };
    case 'additionalProperties':
    case 'unevaluatedProperties':
      return {
        pointer: child(params['additionalProperty'] ?? params['unevaluatedProperty']),
        code: 'unknown_field',
        message: 'is not an answer of this program',
      };
    case 'type':
      return { pointer, code: 'invalid_type', message: `must be ${String(params['type'])}` };
    case 'enum':
      return {
        pointer,
        code: 'invalid_value',
        message: `must be one of ${(params['allowedValues'] as unknown[]).map(String).join(', ')}`,
      };
    default:
      return { pointer, code: 'invalid_value', message: message ?? 'is not as the program needs it' };
  }
}
