import { z } from 'zod';
import { decodeSecret } from '@assistance/webhook-signature';

export const inboxName = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;

const secret = z
  .string()
  .refine(isSecret, { error: 'must be the signingSecret of a subscription, whsec_ included' });

/** What a PUT may ask; what is absent or null is the default. */
export const inboxWish = z.strictObject({
  /** The status of every answer. Default 200. */
  status: z.int().min(200).max(599).nullish(),
  /** How long each answer is held back. Default 0. */
  delayMs: z.int().min(0).max(60_000).nullish(),
  /** So many requests from now on are answered 500. Default 0. */
  failFirst: z.int().min(0).max(1_000_000).nullish(),
  secret: secret.nullish(),
});
export type InboxWish = z.infer<typeof inboxWish>;

export const inboxSettings = z.object({
  status: z.int(),
  delayMs: z.int(),
  failFirst: z.int(),
  /** Requests with a lower number are answered 500. */
  failUntil: z.int(),
  secret: z.string().nullable(),
});
export type InboxSettings = z.infer<typeof inboxSettings>;

/**
 * A PUT states all settings anew, with two exceptions, since a subscription's secret is only known after its inbox:
 * a secret stays until another is given, and a body with nothing but a new secret changes nothing else.
 */
export function nextSettings(
  before: InboxSettings | undefined,
  wish: InboxWish,
  nextNumber: number,
): InboxSettings {
  const secret = wish.secret ?? before?.secret ?? null;
  const asksNothingElse = (wish.status ?? wish.delayMs ?? wish.failFirst ?? null) === null;
  if (before !== undefined && secret !== before.secret && asksNothingElse) return { ...before, secret };
  const { status, delayMs, failFirst } = wish;
  return {
    status: status ?? 200,
    delayMs: delayMs ?? 0,
    failFirst: failFirst ?? 0,
    failUntil: nextNumber + (failFirst ?? 0),
    secret,
  };
}

function isSecret(text: string): boolean {
  try {
    decodeSecret(text);
    return true;
  } catch {
    return false;
  }
}
