// npm run mutate: breaks the code in one place after the other and expects its tests to go red. A break that no test
// notices is a failure of this command. `npm run mutate -- 3.43` does those alone whose name has the words.
import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { rowBreaks } from './conformance/row-breaks.ts';
import { paths } from './machine/paths.ts';
import { runQuietly } from './processes/run-quietly.ts';
import { onStopSignal } from './processes/stop-signal.ts';
import { withThrowawayStack } from './test-run/throwaway-stack.ts';
import { turbo } from './machine/turbo.ts';

interface Mutation {
  name: string;
  file: string;
  find: string;
  replace: string;
  /** The package whose tests must notice, or one test of it. */
  noticedBy: { package: string } | { test: string; needsWholeFile: boolean };
}

/** The newest migration that says this: what an earlier one says of it is replaced. */
const migrationOf = (app: string, text: string): string => {
  const folder = join('apps', app, 'prisma', 'migrations');
  const files = readdirSync(join(paths.root, folder))
    .filter((name) => /^\d/.test(name))
    .sort()
    .map((name) => join(folder, name, 'migration.sql'));
  const file = files.findLast((each) => readFileSync(join(paths.root, each), 'utf8').includes(text));
  if (file === undefined) throw new Error(`No migration of ${app} says: ${text}`);
  return file;
};

const uniqueKey = 'create unique index application_owner_key';
const leaseFence = 'where l.owner = p_owner and l.until > clock_timestamp()';

const mutations: Mutation[] = [
  {
    name: 'the signature',
    file: 'packages/webhook-signature/src/signing-keys.ts',
    find: 'update(`${seconds}.`)',
    replace: 'update(`${seconds}`)',
    noticedBy: { package: '@assistance/webhook-signature' },
  },
  {
    name: 'the delete of published outbox rows',
    file: 'packages/service-kit/src/database/outbox-relay.ts',
    find: 'delete from outbox where id = any($1::bigint[])',
    replace: 'delete from outbox where id = any($1::bigint[]) and false',
    noticedBy: { package: '@assistance/service-kit' },
  },
  {
    name: 'the index that makes a key unique',
    file: migrationOf('applications', uniqueKey),
    find: uniqueKey,
    replace: 'create index application_owner_key',
    noticedBy: { package: '@assistance/applications' },
  },
  {
    name: 'the check of the scope',
    file: 'packages/service-kit/src/auth/require-scope.ts',
    find: '.scopes.has(scope) !== true',
    replace: '.scopes.has(scope) === undefined',
    noticedBy: { package: '@assistance/applications' },
  },
  {
    name: "the lease's fence",
    file: migrationOf('webhook-dispatcher', leaseFence),
    find: leaseFence,
    replace: 'where true',
    noticedBy: { package: '@assistance/webhook-dispatcher' },
  },
  ...rowBreaks(paths.root).map(({ row, file, find, replace, test, needsWholeFile = false }) => ({
    ...{ name: `${row.number} ${row.sentence}`, file, find, replace },
    noticedBy: { test, needsWholeFile },
  })),
];

const only = process.argv[2];
const stopping = new AbortController();
onStopSignal(() => stopping.abort());
const survivors: string[] = [];
await withThrowawayStack(
  { kafka: true, signal: stopping.signal },
  async ({ postgresUrl, brokers, ledger }) => {
    for (const mutation of mutations.filter(({ name }) => only === undefined || name.includes(only))) {
      const restore = breakCode(mutation);
      try {
        const { command, failure } = testsOf(mutation);
        const { code, output } = await runQuietly({
          name: 'mutate',
          ...command,
          env: {
            ...process.env,
            TEST_POSTGRES_URL: postgresUrl,
            TEST_KAFKA_BROKERS: brokers.join(','),
            NODE_OPTIONS: '--experimental-vm-modules --disable-warning=ExperimentalWarning',
          },
          ledger,
        });
        const [red] = failure.exec(output) ?? [];
        const noticed = code !== 0 && red !== undefined;
        console.log(`${noticed ? '✓' : '✗'} ${mutation.name}: ${noticed ? red.trim() : 'no test noticed'}`);
        if (!noticed) survivors.push(mutation.name);
      } finally {
        restore();
      }
      if (stopping.signal.aborted) break;
    }
  },
);
process.exitCode = survivors.length === 0 && !stopping.signal.aborted ? 0 : 1;

/** What to run, and how a failure of a test that must notice is reported. */
function testsOf({ noticedBy }: Mutation) {
  if ('package' in noticedBy) {
    const filter = `--filter=${noticedBy.package}`;
    return {
      command: turbo('run', 'test', filter, '--force', '--output-logs=full'),
      failure: /Tests: +\d+ failed/,
    };
  }
  const [file = '', ...names] = noticedBy.test.split(' › ');
  const folder = file.slice(0, file.indexOf('/test/'));
  const jest = join(paths.root, folder, 'node_modules', 'jest', 'bin', 'jest.js');
  // A title is a template where it is one of many cases.
  const title = (names.at(-1) ?? '').replace(/[.*+?^${}()|[\]\\]/g, '\\$&').replace(/%\w|\\\$\w+/g, '.+');
  const only = noticedBy.needsWholeFile ? [] : ['-t', title];
  return {
    command: {
      command: process.execPath,
      args: [jest, file.slice(folder.length + 1), ...only],
      cwd: join(paths.root, folder),
    },
    failure: new RegExp(`● .*${title}$`, 'm'),
  };
}

/** Breaks one file and answers how to mend it. Refuses a file with uncommitted changes: nothing of anyone's is lost. */
function breakCode({ name, file, find, replace }: Mutation): () => void {
  const path = join(paths.root, file);
  const changed = execFileSync('git', ['status', '--porcelain', '--', file], {
    cwd: paths.root,
    encoding: 'utf8',
  });
  if (changed !== '') throw new Error(`${file} has changes that are not committed; commit them first.`);
  const text = readFileSync(path, 'utf8');
  if (text.split(find).length < 2) throw new Error(`${name}: ${file} no longer has "${find}"`);
  const restore = (): void => writeFileSync(path, text);
  process.once('exit', restore);
  writeFileSync(
    path,
    text.replaceAll(find, () => replace),
  );
  return () => {
    restore();
    process.off('exit', restore);
  };
}
