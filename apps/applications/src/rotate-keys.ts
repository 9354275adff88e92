// node dist/rotate-keys.js   brings all answers under the current key of KEY_RING, so that older keys can be removed from it
import { createKeyRing, readConfig, runCommand, serviceConfig } from '@assistance/service-kit';
import { openDatabase } from './open-database.ts';
import { rewrapDataKeys } from './retention/rewrap-data-keys.ts';

const { DATABASE_URL, KEY_RING } = readConfig(
  serviceConfig.pick({ DATABASE_URL: true, KEY_RING: true }),
  process.env,
);
/** The last walk finds nothing, unless somebody still wraps with another key. */
const MAX_WALKS = 5;

await runCommand(async (say) => {
  const prisma = openDatabase({ url: DATABASE_URL, poolSize: 1 });
  try {
    for (let walk = 1; walk <= MAX_WALKS; walk++) {
      const { found, rewrapped, unopenable } = await rewrapDataKeys(prisma, createKeyRing(KEY_RING));
      say(`Walk ${walk}: ${rewrapped} data keys wrapped anew with ${KEY_RING.current}.`);
      if (found > 0) continue;
      for (const [keyId, count] of unopenable) say(`${count} data keys are under ${keyId} and do not open.`);
      if (unopenable.size === 0) say(`All answers are under ${KEY_RING.current}.`);
      return unopenable.size === 0;
    }
    say('There are always more: does an instance still run with another current key?');
    return false;
  } finally {
    await prisma.$disconnect();
  }
});
