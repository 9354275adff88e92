import { z } from 'zod';
import { applicationStatus } from './application.ts';
import { dateTime } from './date-time.ts';
import { pageOf } from './page.ts';

/** Addition: a program as `GET /programs` lists it; `name` and `description` are in the caller's language. */
export const program = z.object({
  code: z.string(),
  version: z.int(),
  name: z.string(),
  description: z.string(),
  authority: z.string(),
  effectiveFrom: dateTime,
  effectiveTo: dateTime.nullable(),
  permittedWithdrawal: z.array(applicationStatus),
  links: z.array(z.object({ rel: z.string(), href: z.string() })),
});
export type Program = z.infer<typeof program>;

export const programList = pageOf(program);

/** Addition: `GET /programs/{code}`; `answersSchema` is a JSON Schema 2020-12. */
export const programDetail = program.extend({ answersSchema: z.record(z.string(), z.unknown()) });
export type ProgramDetail = z.infer<typeof programDetail>;
