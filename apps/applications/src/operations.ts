import { z } from 'zod';
import {
  applicantStatus,
  application,
  applicationHistory,
  applicationList,
  applicationSubmission,
  programDetail,
  programList,
} from '@assistance/types';
import type { Description, Operation } from '@assistance/service-kit';

/** The interface as its OpenAPI document names it. */
export const description: Description = {
  title: 'Assistance applications',
  summary: 'Submit, read and withdraw applications for assistance programs.',
  basePath: '/applications/v1',
  tags: {
    Applications: 'What a person applied for, and what became of it.',
    Programs: 'What can be applied for, and which answers each program needs.',
  },
  schemas: {
    answers: {
      Application: application,
      ApplicationPage: applicationList,
      ApplicantStatus: applicantStatus,
      ApplicationHistory: applicationHistory,
      ProgramPage: programList,
      ProgramDetail: programDetail,
    },
    bodies: { ApplicationSubmission: applicationSubmission },
  },
};

const parameters = { applicationId: 'The identifier of an application.' };

const key = z.string().regex(/^[!-~]{1,255}$/);

const language = {
  'Accept-Language': { description: 'English (`en`) or Spanish (`es`).', schema: z.string() },
};
const languageAnswer = {
  'Content-Language': 'The language of the answer.',
  Vary: 'Always `Accept-Language`.',
};
const replayed = {
  'Idempotent-Replayed': { sometimes: '`true` when this is the answer to an earlier request again.' },
};

/** What the description says of each operation; the tables of specification 4.1 give what is `specified`. */
export const operations = {
  submit: {
    id: 'submitApplication',
    tag: 'Applications',
    summary: 'Submit an application',
    description:
      'Answered once the application is kept. A retry with the same key and body never makes a second application: it ' +
      'gets the first answer again.',
    specified: { errors: [400, 401, 403, 409, 422], headers: ['Idempotency-Key'] },
    headers: {
      'Idempotency-Key': {
        description: 'A new one for each submission, the same one for its retries. Remembered for ever.',
        required: true,
        schema: key,
      },
      'If-Match': {
        description:
          'The ETag of `GET /programs/{code}`: refuses the submission if the program has changed since.',
        schema: z.string().regex(/^(\*|(W\/)?"[^"\s]*"(, ?(W\/)?"[^"\s]*")*)$/),
      },
    },
    answers: {
      201: {
        description: 'The application, submitted.',
        schema: application,
        headers: { Location: 'The path of the application.', ...replayed },
      },
    },
    errors: [
      'idempotency_key_required',
      'idempotency_key_invalid',
      'direct_identifier',
      'idempotency_key_reused',
      'idempotency_request_in_progress',
      'duplicate_application',
      'stale_version',
      'program_unknown',
      'program_not_open',
    ],
    example: {
      programCode: 'TEST-SCHEMA',
      channel: 'web',
      applicantRef: 'ref-2f6c1b',
      declarationId: null,
      answers: { householdSize: 2, monthlyIncomeCents: 180_000 },
    },
  },
  list: {
    id: 'listApplications',
    tag: 'Applications',
    summary: 'List applications, newest first',
    specified: { errors: [401, 403] },
    parameters: {
      programCode: 'Only applications for this program.',
      status: 'Only applications in this status.',
    },
    answers: { 200: { description: 'A page of them.', schema: applicationList } },
  },
  read: {
    id: 'readApplication',
    tag: 'Applications',
    summary: 'Read an application',
    specified: { errors: [401, 403, 404] },
    parameters,
    answers: { 200: { description: 'The application.', schema: application } },
    errors: ['not_found'],
  },
  readStatus: {
    id: 'readApplicantStatus',
    tag: 'Applications',
    summary: 'Read the status in plain language',
    description: 'For applicant portals and call-center scripts.',
    specified: { errors: [401, 403, 404] },
    parameters,
    headers: language,
    answers: {
      200: {
        description: 'Where the application stands, and what the applicant does next.',
        schema: applicantStatus,
        headers: languageAnswer,
      },
    },
    errors: ['not_found'],
  },
  withdraw: {
    id: 'withdrawApplication',
    tag: 'Applications',
    summary: 'Withdraw an application',
    specified: { errors: [401, 403, 404, 422] },
    parameters,
    headers: {
      'Idempotency-Key': {
        description: 'Makes a withdrawal safe to repeat: the same key gets the same answer again.',
        schema: key,
      },
    },
    answers: { 200: { description: 'The application, withdrawn.', schema: application, headers: replayed } },
    errors: ['idempotency_key_invalid', 'not_found', 'withdrawal_not_permitted', 'already_withdrawn'],
  },
  readHistory: {
    id: 'readHistory',
    tag: 'Applications',
    summary: 'Read each status that an application has had, oldest first, and why',
    parameters,
    headers: language,
    answers: { 200: { description: 'All of them.', schema: applicationHistory, headers: languageAnswer } },
    errors: ['not_found'],
  },
  listPrograms: {
    id: 'listPrograms',
    tag: 'Programs',
    summary: 'List the programs that are open or announced',
    headers: language,
    answers: { 200: { description: 'A page of them.', schema: programList, headers: languageAnswer } },
  },
  readProgram: {
    id: 'readProgram',
    tag: 'Programs',
    summary: 'Read a program with the schema of its answers',
    parameters: { code: 'The code of a program.' },
    headers: language,
    answers: {
      200: {
        description: 'The program as it is in force now.',
        schema: programDetail,
        headers: { ...languageAnswer, ETag: 'Send it as `If-Match` with a submission.' },
      },
    },
    errors: ['not_found'],
  },
} satisfies Record<string, Operation>;
