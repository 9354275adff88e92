import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { bindMigrationAwareSqlAdapterFactory } from '@prisma/driver-adapter-utils';
import { SchemaEngine, type MigrationList } from '@prisma/schema-engine-wasm';
import { MigrationAdapter } from './migration-adapter.ts';

/**
 * The SQL that leads from what the migrations in `prismaDir` make to what its `schema.prisma` describes; null if
 * they agree. `url` is of a role that may create databases: the migrations are tried in one that is dropped again.
 */
export async function diffMigrations(prismaDir: string, url: string): Promise<string | null> {
  const path = join(prismaDir, 'schema.prisma');
  const content = readFileSync(path, 'utf8');
  const adapter = bindMigrationAwareSqlAdapterFactory(new MigrationAdapter(url));
  const engine = await SchemaEngine.new({ datamodels: [[path, content]] }, () => {}, adapter);
  try {
    const { stdout, exitCode } = await engine.diff({
      from: { tag: 'migrations', ...migrationList(join(prismaDir, 'migrations')) },
      to: { tag: 'schemaDatamodel', files: [{ path, content }] },
      script: true,
      exitCode: true,
      filters: { externalTables: [], externalEnums: [] },
    });
    return exitCode === 2 ? (stdout ?? '') : null;
  } finally {
    engine.free();
  }
}

function migrationList(baseDir: string): MigrationList {
  const folders = readdirSync(baseDir, { withFileTypes: true }).filter((entry) => entry.isDirectory());
  const path = 'migration.sql';
  return {
    baseDir,
    lockfile: { path: 'migration_lock.toml', content: 'provider = "postgresql"\n' },
    shadowDbInitScript: '',
    migrationDirectories: folders
      .map((folder) => folder.name)
      .filter((name) => existsSync(join(baseDir, name, path)))
      .sort()
      .map((name) => ({
        path: name,
        migrationFile: {
          path,
          content: { tag: 'ok', value: readFileSync(join(baseDir, name, path), 'utf8') },
        },
      })),
  };
}
