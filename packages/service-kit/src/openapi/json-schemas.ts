import { z } from 'zod';

export type Json = Record<string, unknown>;

interface Named {
  /** The schemas that have a name, for `components.schemas`. */
  schemas: Record<string, Json>;
  /** A schema as JSON Schema: a reference when it has a name. */
  of(schema: z.ZodType): Json;
}

/** zod's own translation to JSON Schema 2020-12; `input` is what is accepted, `output` what is answered. */
export function namedSchemas(named: Record<string, z.ZodType>, io: 'input' | 'output'): Named {
  const registry = z.registry<{ id: string }>();
  for (const [id, schema] of Object.entries(named)) registry.add(schema, { id });
  const { schemas } = z.toJSONSchema(registry, { uri: referenceTo, io, override: plain });
  return {
    schemas: Object.fromEntries(Object.entries(schemas).map(([id, schema]) => [id, told(schema, io)])),
    of(schema) {
      const id = registry.get(schema)?.id;
      return id === undefined ? jsonSchemaOf(schema, io) : { $ref: referenceTo(id) };
    },
  };
}

export const jsonSchemaOf = (schema: z.ZodType, io: 'input' | 'output'): Json =>
  told(z.toJSONSchema(schema, { io, override: plain }), io);

const referenceTo = (id: string): string => `#/components/schemas/${id}`;

/** Without the head of a document of its own. An answer may get more fields in a later version; a body may not have any. */
function told(schema: Json, io: 'input' | 'output'): Json {
  const { $schema: _dialect, $id: _id, ...rest } = schema;
  return io === 'input' ? rest : (open(rest) as Json);
}

function open(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(open);
  if (typeof schema !== 'object' || schema === null) return schema;
  return Object.fromEntries(
    Object.entries(schema)
      .filter(([key, value]) => !(key === 'additionalProperties' && value === false))
      .map(([key, value]) => [key, open(value)]),
  );
}

type Override = NonNullable<z.core.ToJSONSchemaParams['override']>;

const plain: Override = ({ jsonSchema }) => {
  // NUL as every dialect of regular expressions writes it.
  if (jsonSchema.pattern !== undefined) jsonSchema.pattern = jsonSchema.pattern.replaceAll('\\0', '\\x00');
  if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum;
  if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
  // The format says it already, and zod's pattern for a calendar is a page long.
  if (jsonSchema.format === 'date-time' && jsonSchema.pattern !== undefined) {
    if (jsonSchema.pattern.includes('\\.\\d{3}')) jsonSchema.pattern = '\\.\\d{3}Z$';
    else delete jsonSchema.pattern;
  }
};
