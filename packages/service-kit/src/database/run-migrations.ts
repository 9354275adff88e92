import { z } from 'zod';
import { readConfig, serviceConfig } from '../runtime/config.ts';
import { migrate } from './migrate.ts';

/** What a service's `migrate.ts` runs: brings the database of DATABASE_URL up to date; exit 1 when that is not possible. */
export async function runMigrations({
  directory,
  env,
}: {
  directory: string;
  env: NodeJS.ProcessEnv;
}): Promise<void> {
  const { DATABASE_URL } = readConfig(z.object({ DATABASE_URL: serviceConfig.shape.DATABASE_URL }), env);
  try {
    const applied = await migrate(DATABASE_URL, directory);
    for (const name of applied) process.stdout.write(`applied ${name}\n`);
    if (applied.length === 0) process.stdout.write('nothing to apply\n');
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : 'The migration failed.'}\n`);
    process.exitCode = 1;
  }
}
