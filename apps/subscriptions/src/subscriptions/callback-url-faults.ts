import type { AddressPolicy } from '@assistance/public-address';
import type { ErrorDetail } from '@assistance/types';
import { judgeCallbackUrl } from './judge-callback-url.ts';

/** The fault of a body's `callbackUrl`, unless its shape is already one. */
export function callbackUrlFaults(body: unknown, policy: AddressPolicy): ErrorDetail[] {
  const callbackUrl: unknown = (body as { callbackUrl?: unknown } | null)?.callbackUrl;
  if (typeof callbackUrl !== 'string' || callbackUrl === '' || [...callbackUrl].length > 2048) return [];
  const fault = judgeCallbackUrl(callbackUrl, policy);
  return fault === undefined ? [] : [{ pointer: '/callbackUrl', ...fault }];
}
