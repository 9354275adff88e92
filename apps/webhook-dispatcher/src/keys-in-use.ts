// node dist/keys-in-use.js   says under which keys the mirrored secrets are, so that an older key can be removed from KEY_RING
import { readConfig, runCommand, serviceConfig } from '@assistance/service-kit';
import { keysInUse } from './mirror/keys-in-use.ts';
import { openDatabase } from './open-database.ts';

const { DATABASE_URL, KEY_RING } = readConfig(
  serviceConfig.pick({ DATABASE_URL: true, KEY_RING: true }),
  process.env,
);

await runCommand(async (say) => {
  const prisma = openDatabase({ url: DATABASE_URL, poolSize: 1 });
  const keys = await keysInUse(prisma).finally(() => prisma.$disconnect());
  for (const [keyId, count] of keys) say(`${count} secrets are under ${keyId}.`);
  const isDone = [...keys.keys()].every((keyId) => keyId === KEY_RING.current);
  say(isDone ? `No other key than ${KEY_RING.current} is in use.` : 'Older keys are still needed.');
  return isDone;
});
