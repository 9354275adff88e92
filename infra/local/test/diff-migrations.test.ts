import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from '@jest/globals';
import { diffMigrations } from '../src/postgres/diff-migrations.ts';

const folders: string[] = [];
afterAll(() => folders.forEach((folder) => rmSync(folder, { recursive: true })));

const url = process.env['TEST_POSTGRES_URL']!;

function prismaDir(models: string, ...migrations: string[]): string {
  const folder = mkdtempSync(join(tmpdir(), 'diff-migrations-'));
  folders.push(folder);
  writeFileSync(
    join(folder, 'schema.prisma'),
    `datasource db {\n  provider = "postgresql"\n}\n\ngenerator client {\n  provider = "prisma-client"\n}\n\n${models}\n`,
  );
  mkdirSync(join(folder, 'migrations'));
  migrations.forEach((sql, index) => {
    mkdirSync(join(folder, 'migrations', `2026010100000${index}_change`));
    writeFileSync(join(folder, 'migrations', `2026010100000${index}_change`, 'migration.sql'), sql);
  });
  return folder;
}

const model = 'model thing {\n  id Int @id\n  name String?\n  @@index([name])\n}';

test('a new model gives the statements that make its table', async () => {
  const sql = await diffMigrations(prismaDir(model), url);
  expect(sql).toContain('CREATE TABLE "thing"');
  expect(sql).toContain('CREATE INDEX "thing_name_idx"');
});

test('what a diff gave, once it is a migration, leaves nothing to do', async () => {
  const sql = await diffMigrations(prismaDir(model), url);
  expect(await diffMigrations(prismaDir(model, sql!), url)).toBeNull();
});

test('a migration may hold functions with semicolons, partitions and a "char" column', async () => {
  const extra = `
    create function add(a int, b int) returns int language plpgsql as $$ begin a := a + 1; return a + b; end $$;
    create table part (id int not null, day int not null, kind "char", primary key (day, id)) partition by range (day);`;
  const models = `${model}\n\nmodel part {\n  id Int\n  day Int\n  kind String? @db.Char(1)\n  @@id([day, id])\n}`;
  const first = await diffMigrations(prismaDir(model), url);
  const rest = await diffMigrations(prismaDir(models, first!, extra), url);
  expect(rest).not.toContain('CREATE TABLE');
});

test('a migration that fails is reported with its reason', async () => {
  await expect(diffMigrations(prismaDir(model, 'create tabel thing ();'), url)).rejects.toThrow();
});
