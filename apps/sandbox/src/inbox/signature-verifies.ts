import type { IncomingHttpHeaders } from 'node:http';
import { verify } from '@assistance/webhook-signature';

/** True when `X-Service-Signature` verifies, and the Standard Webhooks signature beside it, where there is one. */
export function signatureVerifies(
  headers: IncomingHttpHeaders,
  body: Buffer,
  secret: string,
  now: Date,
): boolean {
  const delivery = { headers, body, secrets: [secret], nowSeconds: Math.floor(now.getTime() / 1000) };
  if (!verify(delivery).ok) return false;
  return headers['webhook-signature'] === undefined || verify({ ...delivery, scheme: 'standard' }).ok;
}
