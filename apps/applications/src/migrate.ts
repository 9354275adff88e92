import { fileURLToPath } from 'node:url';
import { runMigrations } from '@assistance/service-kit';

await runMigrations({
  directory: fileURLToPath(new URL('../prisma/migrations', import.meta.url)),
  env: process.env,
});
