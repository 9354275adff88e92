import { createHash } from 'node:crypto';
import { disturbancesOf } from '../disturb/disturb-all.ts';
import { allLinesOf, linesOf } from '../ledger/json-lines.ts';
import type {
  DisturbanceLine,
  EventLine,
  ReceptionLine,
  ReplayLine,
  SubmissionLine,
} from '../ledger/ledger-lines.ts';
import type { RunFiles } from '../run-folder.ts';

/** What a client knows of one submission. */
export interface Submission {
  program: string;
  applicantRef: string;
  /** The ids in all answers to its key: one, if all is well. */
  applicationIds: Set<string>;
  refusals: string[];
}

/** What a publisher knows of one event. */
export interface Published {
  type: string;
  subject: string;
  sequence: number;
  digest: string;
  acknowledged: boolean;
}

/** What an owner knows of a replay. */
export interface WatchedReplay {
  subscriber: string;
  /** As it was shown, look by look. */
  delivered: number[];
}

/** All that submitters, publishers and receivers wrote down. */
export interface Ledger {
  /** By key. */
  submissions: Map<string, Submission>;
  /** By event id. */
  published: Map<string, Published>;
  /** By subscriber, in the order in which they were written. */
  receptions: Map<string, ReceptionLine[]>;
  /** By id. */
  replays: Map<string, WatchedReplay>;
  disturbances: DisturbanceLine[];
}

export async function readLedger(files: RunFiles, subscribers: string[]): Promise<Ledger> {
  const receptions = new Map<string, ReceptionLine[]>();
  for (const name of subscribers) {
    receptions.set(name, await allLinesOf<ReceptionLine>(files.receptions(name)));
  }
  return {
    submissions: await readSubmissions(files.submissions),
    published: await readPublished(files.events),
    receptions,
    replays: await readReplays(files.replays),
    disturbances: await disturbancesOf(files.disturbances),
  };
}

async function readSubmissions(file: string): Promise<Map<string, Submission>> {
  const submissions = new Map<string, Submission>();
  for await (const line of linesOf<SubmissionLine>(file)) {
    if (line.step === 'sent') {
      const { key, program, applicantRef } = line;
      submissions.set(key, { program, applicantRef, applicationIds: new Set(), refusals: [] });
    } else if (line.step === 'accepted') submissions.get(line.key)?.applicationIds.add(line.applicationId);
    else submissions.get(line.key)?.refusals.push(`${line.status} ${line.code}`);
  }
  return submissions;
}

async function readPublished(file: string): Promise<Map<string, Published>> {
  const published = new Map<string, Published>();
  for await (const line of linesOf<EventLine>(file)) {
    if (line.step === 'sent') {
      const { id, type, subject, sequence, body } = line;
      const digest = createHash('sha256').update(Buffer.from(body, 'base64')).digest('hex');
      published.set(id, { type, subject, sequence, digest, acknowledged: false });
    } else {
      const event = published.get(line.id);
      if (event !== undefined) event.acknowledged = true;
    }
  }
  return published;
}

async function readReplays(file: string): Promise<Map<string, WatchedReplay>> {
  const replays = new Map<string, WatchedReplay>();
  for await (const line of linesOf<ReplayLine>(file)) {
    if (line.step === 'taken') replays.set(line.replayId, { subscriber: line.subscriber, delivered: [] });
    else replays.get(line.replayId)?.delivered.push(line.delivered);
  }
  return replays;
}
