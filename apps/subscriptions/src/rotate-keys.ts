// node dist/rotate-keys.js   brings all signing secrets under the current key of KEY_RING and publishes them anew
import { setTimeout as delay } from 'node:timers/promises';
import { createKeyRing, createLogger, readConfig, runCommand, serviceConfig } from '@assistance/service-kit';
import { openDatabase } from './open-database.ts';
import { keysInUse } from './upkeep/keys-in-use.ts';
import { resealSecrets } from './upkeep/reseal-secrets.ts';

const { DATABASE_URL, KEY_RING, LOG_LEVEL } = readConfig(
  serviceConfig.pick({ DATABASE_URL: true, KEY_RING: true, LOG_LEVEL: true }),
  process.env,
);
/** What is passed over because it is in use is found by a later walk; what does not open, by all of them. */
const MAX_WALKS = 10;
const IN_USE_MS = 200;

await runCommand(async (say) => {
  const prisma = openDatabase({ url: DATABASE_URL, poolSize: 1 });
  try {
    const keyRing = createKeyRing(KEY_RING);
    const log = createLogger({ service: 'subscriptions', level: LOG_LEVEL });
    // The relays of the running instances publish what is committed here.
    const deps = { prisma, keyRing, log, wakeRelay: () => undefined };
    let left: [string, number][] = [];
    for (let walk = 1; walk <= MAX_WALKS; walk++) {
      const found = await resealSecrets(deps);
      say(`Walk ${walk}: ${found} subscriptions had a secret under another key than ${KEY_RING.current}.`);
      left = [...(await keysInUse(prisma))].filter(([keyId]) => keyId !== KEY_RING.current);
      if (left.length === 0) break;
      if (found === 0) await delay(IN_USE_MS);
    }
    for (const [keyId, count] of left) say(`${count} secrets are under ${keyId} still.`);
    if (left.length === 0) say(`All secrets are under ${KEY_RING.current}.`);
    return left.length === 0;
  } finally {
    await prisma.$disconnect();
  }
});
