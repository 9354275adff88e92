import { randomBytes } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { z } from 'zod';
import { MachineFault } from '../machine/machine-fault.ts';
import { replaceFile } from '../machine/replace-file.ts';

const base64Key = z.base64();
const keyRing = z.object({ current: z.string(), keys: z.record(z.string(), base64Key) });
const secrets = z.object({
  postgresPassword: z.string(),
  databasePasswords: z.object({
    applications: z.string(),
    subscriptions: z.string(),
    'webhook-dispatcher': z.string(),
  }),
  applicationsKeyRing: keyRing,
  /** For signing secrets: subscriptions and the dispatcher share it. */
  subscriptionsKeyRing: keyRing,
  idempotencyKey: z.object({ id: z.string(), key: base64Key }),
  cursorKey: base64Key,
});
export type Secrets = z.infer<typeof secrets>;

/** Made on the first start, readable by their owner alone, kept until `npm run reset`. */
export function loadSecrets(file: string): Secrets {
  if (!existsSync(file)) replaceFile(file, makeSecrets(), 0o600);
  try {
    return secrets.parse(JSON.parse(readFileSync(file, 'utf8')));
  } catch (cause) {
    throw new MachineFault(
      `${file} cannot be read. Without its keys the local data are of no use; begin anew with: npm run reset`,
      { cause },
    );
  }
}

function makeSecrets(): Secrets {
  const key = () => randomBytes(32).toString('base64');
  const password = () => randomBytes(18).toString('hex');
  const ring = () => ({ current: 'k1', keys: { k1: key() } });
  return {
    postgresPassword: password(),
    databasePasswords: {
      applications: password(),
      subscriptions: password(),
      'webhook-dispatcher': password(),
    },
    applicationsKeyRing: ring(),
    subscriptionsKeyRing: ring(),
    idempotencyKey: { id: 'i1', key: key() },
    cursorKey: key(),
  };
}
