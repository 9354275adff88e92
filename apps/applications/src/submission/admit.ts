import type { ApplicationSubmission } from '@assistance/types';
import { ApiError } from '@assistance/service-kit';
import { etagsOf, ifMatchHolds } from '../programs/program-etag.ts';
import type { Program } from '../programs/program.ts';
import type { ProgramCatalogue } from '../programs/program-catalogue.ts';

export type Admission = { program: Program } | { refusal: ApiError };

/**
 * Whether a program takes this submission at this moment, in the order of interface-details 1: the program (422), the
 * version that the caller knows (409), the answers (400). Pure: a look-up decides first whether the key is known.
 */
export function admit(
  submission: ApplicationSubmission,
  { programs, at, ifMatch }: { programs: ProgramCatalogue; at: Date; ifMatch: string | undefined },
): Admission {
  const program = programs.inForce(submission.programCode, at);
  if (program === undefined) return { refusal: noProgram(programs.find(submission.programCode, at), at) };
  if (ifMatch !== undefined && !ifMatchHolds(ifMatch, etagsOf(program)))
    return { refusal: staleVersion(program) };
  const faults = program.checkAnswers(submission.answers ?? {});
  if (faults.length === 0) return { program };
  return {
    refusal: new ApiError(
      'validation_error',
      'The answers are not as the program asks for them; see details.',
      {
        details: faults,
      },
    ),
  };
}

function noProgram(closed: Program | undefined, at: Date): ApiError {
  if (closed === undefined) {
    return new ApiError(
      'program_unknown',
      'There is no program with this code. GET /programs lists the programs that there are.',
    );
  }
  const { effectiveFrom, effectiveTo } = closed;
  const when =
    effectiveFrom > at
      ? `It opens at ${effectiveFrom.toISOString()}.`
      : `It closed at ${effectiveTo?.toISOString() ?? 'an earlier time'}.`;
  return new ApiError('program_not_open', `This program takes no applications now. ${when}`);
}

const staleVersion = ({ pack }: Program): ApiError =>
  new ApiError(
    'stale_version',
    `The program has changed: version ${pack.version} is in force. Read GET /programs/${pack.code} again, check the ` +
      'answers against it, and submit with its ETag.',
  );
