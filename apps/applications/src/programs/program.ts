import { createHash } from 'node:crypto';
import canonicalize from 'canonicalize';
import { createAnswersCheck, type AnswersCheck } from './check-answers.ts';
import type { ProgramPack } from './program-pack.ts';

/** A pack made ready: its digest, its compiled check of answers, its moments. */
export interface Program {
  pack: ProgramPack;
  digest: string;
  effectiveFrom: Date;
  effectiveTo: Date | null;
  checkAnswers: AnswersCheck;
}

/** Throws when the schema of answers is not sound. */
export function createProgram(pack: ProgramPack, digest: string): Program {
  return {
    pack,
    digest,
    effectiveFrom: new Date(pack.effectiveFrom),
    effectiveTo: pack.effectiveTo === null ? null : new Date(pack.effectiveTo),
    checkAnswers: createAnswersCheck(pack.answersSchema),
  };
}

/** SHA-256 of a pack's canonical JSON (RFC 8785), as it was written: what the schema adds to it is not part of it. */
export const digestOf = (written: unknown): string =>
  createHash('sha256')
    .update(canonicalize(written) ?? '')
    .digest('hex');

export const isInForce = ({ effectiveFrom, effectiveTo }: Program, at: Date): boolean =>
  effectiveFrom <= at && (effectiveTo === null || at < effectiveTo);
