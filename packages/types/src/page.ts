import { z } from 'zod';

/** Position in a list (specification 2.4). `nextCursor` is null when there is no further page. */
export const page = z.object({ nextCursor: z.string().nullable(), limit: z.int() });
export type Page = z.infer<typeof page>;

/** Limits of specification 8; a `limit` above the maximum is applied as the maximum. */
export const pageLimit = { default: 50, maximum: 200 } as const;

export const pageOf = <T extends z.ZodType>(item: T) => z.object({ data: z.array(item), page });
