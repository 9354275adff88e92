import { createHash } from 'node:crypto';
import canonicalize from 'canonicalize';
import { createAnswersCheck, type AnswersCheck } from './check-answers.ts';
import type { ProgramPack } from './program-pack.ts';

/** A pack made ready: its digest, its compiled check of answers, its moments. */
export interface Program {
  pack: ProgramPack;
  /** SHA-256 of the pack's canonical JSON (of the template's, for a program that is made from one). */
  digest: string;
  effectiveFrom: Date;
  effectiveTo: Date | null;
  checkAnswers: AnswersCheck;
}

/** Throws when the schema of answers is not sound. */
export function createProgram(pack: ProgramPack): Program {
  return {
    pack,
    digest: digestOf(pack),
    effectiveFrom: new Date(pack.effectiveFrom),
    effectiveTo: pack.effectiveTo === null ? null : new Date(pack.effectiveTo),
    checkAnswers: createAnswersCheck(pack.answersSchema),
  };
}

export const digestOf = (pack: object): string =>
  createHash('sha256')
    .update(canonicalize(pack) ?? '')
    .digest('hex');

export const isInForce = ({ effectiveFrom, effectiveTo }: Program, at: Date): boolean =>
  effectiveFrom <= at && (effectiveTo === null || at < effectiveTo);
