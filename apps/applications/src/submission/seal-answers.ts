import { randomBytes } from 'node:crypto';
import { openWith, sealWith, type KeyRing } from '@assistance/service-kit';

/** Answers as they are kept: ciphertext under a data key of their own, and that key wrapped by the key ring. */
export interface SealedAnswers {
  dataKey: string;
  answers: Uint8Array<ArrayBuffer>;
}

export function sealAnswers(
  keyRing: KeyRing,
  applicationId: string,
  answers: Record<string, unknown>,
): SealedAnswers {
  const dataKey = randomBytes(32);
  const plaintext = Buffer.from(JSON.stringify(answers));
  return {
    dataKey: keyRing.seal(dataKey, dataKeyContext(applicationId)),
    answers: Uint8Array.from(sealWith(dataKey, plaintext, answersContext(applicationId))),
  };
}

/** Throws when the wrapping key is not in the ring, or something was changed or put to another application. */
export function openAnswers(
  keyRing: KeyRing,
  applicationId: string,
  { dataKey, answers }: { dataKey: string; answers: Uint8Array },
): Record<string, unknown> {
  const key = keyRing.open(dataKey, dataKeyContext(applicationId));
  return JSON.parse(openWith(key, answers, answersContext(applicationId)).toString()) as Record<
    string,
    unknown
  >;
}

/** The same data key under the current key of the ring; the answers need not be touched. Throws as openAnswers does. */
export const rewrapDataKey = (keyRing: KeyRing, applicationId: string, dataKey: string): string =>
  keyRing.seal(keyRing.open(dataKey, dataKeyContext(applicationId)), dataKeyContext(applicationId));

const dataKeyContext = (applicationId: string): string => `data key of ${applicationId}`;
const answersContext = (applicationId: string): string => `answers of ${applicationId}`;
