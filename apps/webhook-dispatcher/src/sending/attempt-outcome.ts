import type { FailureReason } from '@assistance/types';

/** What came of one attempt to deliver. */
export type AttemptOutcome =
  | { kind: 'succeeded'; responseStatus: number; responseBody: string | null }
  | {
      kind: 'failed';
      reason: FailureReason;
      responseStatus: number | null;
      responseBody: string | null;
      /** How long the receiver asked to be left alone (429, 503), at most one hour. */
      retryAfterMs: number | null;
    };

const MAX_RETRY_AFTER_MS = 3_600_000;

/** A complete answer: 2xx is success; redirects are not followed and fail (interface-details 4). */
export function outcomeOfResponse(options: {
  status: number;
  body: string | null;
  retryAfter: string | undefined;
  now: number;
}): AttemptOutcome {
  const { status, body, retryAfter, now } = options;
  if (status >= 200 && status < 300) {
    return { kind: 'succeeded', responseStatus: status, responseBody: body };
  }
  return {
    kind: 'failed',
    reason: status >= 300 && status < 400 ? 'redirect' : 'http_status',
    responseStatus: status,
    responseBody: body,
    retryAfterMs: status === 429 || status === 503 ? readRetryAfter(retryAfter, now) : null,
  };
}

/** Seconds or a date (RFC 9110, 10.2.3); what makes no sense is passed over. */
export function readRetryAfter(header: string | undefined, now: number): number | null {
  if (header === undefined) return null;
  const text = header.trim();
  const isDate = /^[A-Z][a-z]{2},? \d/.test(text);
  const delayMs = /^\d{1,10}$/.test(text) ? Number(text) * 1_000 : isDate ? Date.parse(text) - now : NaN;
  if (Number.isNaN(delayMs) || delayMs <= 0) return null;
  return Math.min(delayMs, MAX_RETRY_AFTER_MS);
}

export const failedWith = (reason: FailureReason, responseStatus: number | null = null): AttemptOutcome => ({
  kind: 'failed',
  reason,
  responseStatus,
  responseBody: null,
  retryAfterMs: null,
});

/** Why the way to the receiver, or its answer, broke. */
export function reasonOfError(error: unknown): FailureReason {
  const code = codeOf(error);
  if (code === 'BLOCKED_ADDRESS') return 'blocked_address';
  if (code === 'DNS_FAILED') return 'dns_failed';
  if (code === 'UND_ERR_HEADERS_OVERFLOW' || code === 'HPE_HEADER_OVERFLOW') return 'response_too_large';
  if (
    code === 'DELIVERY_TIMEOUT' ||
    code === 'ETIMEDOUT' ||
    /^UND_ERR_(CONNECT|HEADERS|BODY)_TIMEOUT$/.test(code)
  ) {
    return 'timeout';
  }
  if (
    /^(ECONNREFUSED|EHOSTUNREACH|ENETUNREACH|EADDRNOTAVAIL|EACCES|PROXY_FAILED|TUNNEL_FAILED)$/.test(code)
  ) {
    return 'connection_refused';
  }
  if (/TLS|SSL|CERT|SIGNED|EPROTO|UNABLE_TO_/.test(code)) return 'tls_failed';
  if (isMalformed(error, code)) return 'malformed_response';
  return 'connection_closed';
}

/** undici's codes do not tell of every answer that is no HTTP, nor of an unasked 100 or 101. */
const isMalformed = (error: unknown, code: string): boolean =>
  code === 'MALFORMED_RESPONSE' ||
  /^HPE_|^UND_ERR_(RES_|RESPONSE|INVALID|NOT_SUPPORTED|HTTP_PARSER)/.test(code) ||
  (error instanceof Error &&
    (error.name === 'HTTPParserError' || /^bad (response|upgrade)$/.test(error.message)));

function codeOf(error: unknown): string {
  if (error instanceof AggregateError && error.errors.length > 0) return codeOf(error.errors[0]);
  if (error instanceof Error && 'code' in error && typeof error.code === 'string') return error.code;
  return '';
}
