import { z } from 'zod';
import { applicationStatuses, dateTime, programCode } from '@assistance/types';
import { ruleOperators } from './rule-operators.ts';

const text = z.string().min(1);
export type Language = 'en' | 'es';
const translated = z.strictObject({ en: text, es: text });
export type Translated = z.infer<typeof translated>;

const operator = z.enum(Object.keys(ruleOperators) as [string, ...string[]]);
const comparedValue = z.union([
  z.string(),
  z.number(),
  z.boolean(),
  z.array(z.union([z.string(), z.number()])),
  z.strictObject({ fact: text }),
]);
const comparison = z.strictObject({ fact: text, operator, value: comparedValue });

export type Comparison = z.infer<typeof comparison>;
export type Conditions = { all: Condition[] } | { any: Condition[] } | { not: Condition };
export type Condition = Conditions | Comparison;

const condition: z.ZodType<Condition> = z.lazy(() => z.union([comparison, conditions]));
const conditions: z.ZodType<Conditions> = z.union([
  z.strictObject({ all: z.array(condition).min(1) }),
  z.strictObject({ any: z.array(condition).min(1) }),
  z.strictObject({ not: condition }),
]);

/** A requirement. `when` says whom it concerns (everyone if absent); `conditions` are json-rules-engine's, without `path`. */
const rule = z.strictObject({
  code: z.string().regex(/^[a-z][a-z0-9_]{0,63}$/, { error: 'must be lower-case words joined by _' }),
  citation: text,
  when: conditions.optional(),
  conditions,
  message: translated,
});
export type Rule = z.infer<typeof rule>;

/** A fact read from a table by another fact; beyond the last row each further step adds `eachFurther`. */
const lookup = z.strictObject({
  by: text,
  table: z.record(z.string().regex(/^\d+$/), z.int()),
  eachFurther: z.int().optional(),
});
export type Lookup = z.infer<typeof lookup>;

const plainStatus = z.strictObject({ status: text.optional(), message: text, nextStep: text });
const messages = z.strictObject({
  name: text,
  description: text,
  statuses: z.partialRecord(z.enum(applicationStatuses), plainStatus).optional(),
});

/**
 * A program as data (design 3): one version of it, never changed once it is published. In a template `code` is absent
 * and every well-formed code that is named nowhere else has this pack.
 */
export const programPack = z.strictObject({
  code: programCode,
  version: z.int().min(1),
  effectiveFrom: dateTime,
  /** The first moment at which it no longer applies; null: not known yet. */
  effectiveTo: dateTime.nullable(),
  authority: text,
  links: z.array(z.strictObject({ rel: text, href: z.url() })).default([]),
  /** JSON Schema 2020-12 of `answers`. */
  answersSchema: z.looseObject({ type: z.literal('object') }),
  /** `person`: no machine decides; every application goes to review. */
  decidedBy: z.enum(['rules', 'person']).default('rules'),
  decideAfterSeconds: z.int().min(0).default(0),
  lookups: z.record(z.string(), lookup).default({}),
  rules: z.array(rule),
  withdrawal: z.strictObject({ permittedFrom: z.array(z.enum(['submitted', 'validating', 'eligible'])) }),
  /** `one_open`: a second application of an applicant is refused while one is open. */
  duplicatePolicy: z.enum(['allowed', 'one_open']),
  messages: z.strictObject({ en: messages, es: messages }),
});
export type ProgramPack = z.infer<typeof programPack>;

export const templatePack = programPack.omit({ code: true }).extend({
  /** Codes that stay unknown. */
  except: z.array(programCode).default([]),
});
export type TemplatePack = z.infer<typeof templatePack>;
