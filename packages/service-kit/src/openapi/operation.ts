import type { z } from 'zod';
import type { ErrorCode } from '@assistance/types';
import type { Json } from './json-schemas.ts';

/** What the description says of a route beyond what the route itself shows. */
export interface Operation {
  /** The operationId: stable, generated clients are named after it. */
  id: string;
  tag: string;
  summary: string;
  description?: string;
  /** Statuses and headers that the specification lists; what else there is is an addition. Absent: all of it is one. */
  specified?: { errors: number[]; headers?: string[] };
  /** Each success by its status. */
  answers: Record<number, DescribedAnswer>;
  /** The refusals of the verb itself; those of the order of checks are known from the route. */
  errors?: ErrorCode[];
  /** What the parameters of path and query mean, by name. */
  parameters?: Record<string, string>;
  /** Headers that the verb reads. */
  headers?: Record<string, { description: string; required?: boolean; schema: z.ZodType }>;
  /** A body that is accepted. */
  example?: unknown;
}

export interface DescribedAnswer {
  description: string;
  /** Absent: there is no body. */
  schema?: z.ZodType;
  /** By default `application/json`. */
  contentType?: string;
  /** Headers beside those of every answer, with what they mean; always there, but what is `sometimes`. */
  headers?: Record<string, string | { sometimes: string }>;
}

/** One interface as its description names it. */
export interface Description {
  title: string;
  summary: string;
  basePath: string;
  /** What each tag holds. */
  tags: Record<string, string>;
  /** What this interface sends to its callers, as OpenAPI has it. */
  webhooks?: Record<string, Json>;
  /** The schemas of answers and bodies that are to have a name. */
  schemas: { answers: Record<string, z.ZodType>; bodies?: Record<string, z.ZodType> };
}
