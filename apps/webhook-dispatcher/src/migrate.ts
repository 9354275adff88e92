import { join } from 'node:path';
import { migrate } from '@assistance/service-kit';

const applied = await migrate(
  process.env['DATABASE_URL'] ?? '',
  join(import.meta.dirname, '..', 'prisma', 'migrations'),
);
console.log(applied.length === 0 ? 'Nothing to migrate.' : `Applied ${applied.join(', ')}.`);
