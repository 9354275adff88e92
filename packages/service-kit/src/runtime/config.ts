import { createSecretKey } from 'node:crypto';
import { z } from 'zod';
import { tokenIssuer } from '../auth/token-verifier.ts';
import { keyRingConfig } from '../crypto/key-ring.ts';

const port = z.coerce.number().int().min(0).max(65_535);

/** A variable that holds JSON of the given shape. */
export const jsonVariable = <T extends z.ZodType>(schema: T) =>
  z
    .string()
    .transform((text, context): unknown => {
      try {
        return JSON.parse(text);
      } catch {
        context.addIssue({ code: 'custom', message: 'must be JSON' });
        return z.NEVER;
      }
    })
    .pipe(schema);

/** A variable that holds a comma-separated list; empty means none. */
export const listVariable = z
  .string()
  .default('')
  .transform((text) =>
    text
      .split(',')
      .map((item) => item.trim())
      .filter((item) => item !== ''),
  );

/** A variable that holds a whole number, within limits, with a default. */
export const numberVariable = (byDefault: number, { min = 0, max = Number.MAX_SAFE_INTEGER } = {}) =>
  z.coerce.number().int().min(min).max(max).default(byDefault);

export const base64Key = z
  .base64()
  .transform((text) => Buffer.from(text, 'base64'))
  .refine((key) => key.length === 32, { error: 'must be base64 of 32 bytes' });

/** The same, made ready for use: quicker than its bytes where it is used with every request. */
export const secretKey = base64Key.transform((key) => createSecretKey(key));

/** What every service reads from its environment. */
export const serviceConfig = z.object({
  HTTP_PORT: port,
  OPS_PORT: port,
  DATABASE_URL: z.url({ protocol: /^postgres(ql)?$/ }),
  DATABASE_POOL_SIZE: numberVariable(10, { min: 1, max: 100 }),
  KAFKA_BROKERS: z
    .string()
    .regex(/^[^\s,:]+:\d+(,[^\s,:]+:\d+)*$/, { error: 'must be a list like host:9092,host:9092' })
    .transform((text) => text.split(',')),
  /** Put before every topic and group name; tests share one broker with it. */
  KAFKA_TOPIC_PREFIX: z.string().default(''),
  TOKEN_AUDIENCE: z.string().min(1),
  TOKEN_ISSUERS: jsonVariable(z.array(tokenIssuer).min(1)),
  KEY_RING: jsonVariable(keyRingConfig),
  CURSOR_KEY: base64Key,
  RATE_LIMIT_PER_SECOND: numberVariable(50, { min: 1 }),
  /** Owners (`<issuer>#<clientId>`) that may read across owners; each such read is audited. */
  OPERATOR_CLIENTS: listVariable,
  LOG_LEVEL: z.enum(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent']).default('info'),
});

/**
 * Reads the environment once, at the start; a variable that is empty counts as not set. Every fault is named at once, by
 * variable, never with its value (it may be a secret), and the process ends with 1.
 */
export function readConfig<T extends z.ZodType>(schema: T, env: NodeJS.ProcessEnv): z.output<T> {
  const given = Object.fromEntries(Object.entries(env).filter(([, value]) => value !== ''));
  const parsed = schema.safeParse(given);
  if (parsed.success) return parsed.data;
  const faults = configFaults(parsed.error, given);
  process.stderr.write(`The configuration is not usable:\n${faults.map((fault) => `  ${fault}\n`).join('')}`);
  process.exit(1);
}

/** `NAME: what is wrong`, one line a fault. */
export function configFaults(error: z.ZodError, env: NodeJS.ProcessEnv): string[] {
  return error.issues.map((issue) => {
    const [name, ...rest] = issue.path;
    const where = [String(name), ...rest.map(String)].join('.');
    return env[String(name)] === undefined ? `${where}: is missing` : `${where}: ${issue.message}`;
  });
}
