import { cp, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/**
 * Migrates to a service's next version: `migrate` gets a folder with its migrations and one more, which adds a nullable
 * column to every table.
 */
export async function migrateFurther<T>(
  migrations: string,
  migrate: (folder: string) => Promise<T>,
): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), 'assistance-migrations-'));
  await cp(migrations, folder, { recursive: true });
  const later = join(folder, '99990101000000_a_column_for_every_table');
  await mkdir(later);
  await writeFile(
    join(later, 'migration.sql'),
    `do $$ declare name text; begin
       for name in select relname from pg_class
         where relnamespace = 'public'::regnamespace and relkind in ('r', 'p') and not relispartition
           and relname <> '_prisma_migrations'
       loop execute format('alter table %I add column added_later text', name); end loop;
     end $$;`,
  );
  try {
    return await migrate(folder);
  } finally {
    await rm(folder, { recursive: true });
  }
}
