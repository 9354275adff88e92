import { pino, type DestinationStream, type Logger } from 'pino';

export type { Logger } from 'pino';

/** What must never be logged, wherever it turns up in a log object. */
const secretFields = [
  'authorization',
  'signingSecret',
  'secret',
  'clientSecret',
  'token',
  'answers',
  'applicantRef',
  'declarationId',
  'callbackUrl',
  'responseBody',
];

/**
 * Structured logs, one JSON line per unit of work, on standard output. The message is the name of the unit
 * (`request.answered`); the rest are fields. Secrets and personal data are redacted should they slip in.
 */
export function createLogger({ service, level }: { service: string; level: string }): Logger {
  const output = standardOutput();
  return pino(
    {
      level,
      base: { service },
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      serializers: { err: errorFields },
      redact: {
        paths: secretFields.flatMap((field) => [field, `*.${field}`, `*.*.${field}`]),
        censor: '[redacted]',
      },
    },
    output,
  );
}

/**
 * A log that cannot be written (no space on the device) neither ends the service nor keeps it from ending: what waits is
 * tried again with the next line, and beyond 1 MiB lines are dropped.
 */
function standardOutput(): DestinationStream {
  const output = pino.destination({ dest: 1, sync: true, maxLength: 1024 * 1024, retryEAGAIN: () => false });
  output.on('error', () => undefined);
  output.flushSync = () => undefined; // nothing waits that could be written, and the library's would try for ever
  return output;
}

/** An error as it is logged: driver errors may quote row values in `detail`, so fields are chosen, not copied. */
function errorFields(error: unknown): Record<string, unknown> {
  if (!(error instanceof Error)) return { message: 'a value that is no Error was thrown' };
  const { code, cause } = error as Error & { code?: unknown };
  return {
    type: error.name,
    message: firstLines(error.message),
    ...(typeof code === 'string' ? { code } : {}),
    stack: error.stack
      ?.split('\n')
      .filter((line) => line.trimStart().startsWith('at '))
      .slice(0, 12)
      .join('\n'),
    ...(cause instanceof Error ? { cause: errorFields(cause) } : {}),
  };
}

const firstLines = (text: string): string => text.split('\n').slice(0, 8).join('\n').slice(0, 500);
