import type { z } from 'zod';
import { cloudEvent } from '@assistance/types';
import { UnacceptableRecord, type ReceivedRecord } from './record-consumer.ts';

/** A message of one of the types that a consumer knows. */
export type MessageOf<Schemas extends Record<string, z.ZodType>> = {
  [Type in keyof Schemas & string]: { id: string; type: Type; data: z.output<Schemas[Type]> };
}[keyof Schemas & string];

/**
 * Reads a structured CloudEvent whose type is one of `schemas`. Unknown fields are dropped. A type that this version does
 * not know is undefined: a newer producer may send it. Anything else that does not fit is unacceptable.
 */
export function readCloudEvent<Schemas extends Record<string, z.ZodType>>(
  record: ReceivedRecord,
  schemas: Schemas,
): MessageOf<Schemas> | undefined {
  const event = cloudEvent.safeParse(parseJson(record));
  if (!event.success) throw new UnacceptableRecord('the record is not a CloudEvent');
  const { id, type, data } = event.data;
  const schema = Object.hasOwn(schemas, type) ? schemas[type] : undefined;
  if (schema === undefined) return undefined;
  const parsed = schema.safeParse(data);
  if (!parsed.success) {
    const where = parsed.error.issues.map((issue) => issue.path.join('.')).join(', ');
    throw new UnacceptableRecord(`data of ${type} is not as its schema says: ${where}`);
  }
  return { id, type, data: parsed.data } as MessageOf<Schemas>;
}

/** A byte-order mark is kept, so that JSON refuses it (RFC 8259, 8.1): what is passed on must be read alike by all. */
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** The value of a record as JSON; unacceptable when it is none. */
export function parseJson(record: ReceivedRecord): unknown {
  try {
    return JSON.parse(utf8.decode(record.value ?? new Uint8Array()));
  } catch {
    throw new UnacceptableRecord('the value is not JSON in UTF-8');
  }
}
