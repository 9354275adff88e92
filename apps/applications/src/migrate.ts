// Applies what is new in prisma/migrations to DATABASE_URL; 0 when all is applied, 1 when not.
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import { createLogger, migrate, readConfig } from '@assistance/service-kit';

const { DATABASE_URL } = readConfig(
  z.object({ DATABASE_URL: z.url({ protocol: /^postgres(ql)?$/ }) }),
  process.env,
);
const log = createLogger({ service: 'applications', level: 'info' });
try {
  const applied = await migrate(
    DATABASE_URL,
    fileURLToPath(new URL('../prisma/migrations', import.meta.url)),
  );
  log.info({ applied }, 'database.migrated');
} catch (error) {
  log.fatal({ err: error }, 'database.migration_failed');
  process.exitCode = 1;
}
