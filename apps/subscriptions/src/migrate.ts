import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import { migrate, readConfig, serviceConfig } from '@assistance/service-kit';

/** Brings the database of DATABASE_URL up to date with `prisma/migrations`; exit 1 when that is not possible. */
const { DATABASE_URL } = readConfig(
  z.object({ DATABASE_URL: serviceConfig.shape.DATABASE_URL }),
  process.env,
);
const directory = fileURLToPath(new URL('../prisma/migrations', import.meta.url));
try {
  const applied = await migrate(DATABASE_URL, directory);
  for (const name of applied) process.stdout.write(`applied ${name}\n`);
  if (applied.length === 0) process.stdout.write('nothing to apply\n');
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : 'The migration failed.'}\n`);
  process.exitCode = 1;
}
