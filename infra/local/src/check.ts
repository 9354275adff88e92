// npm run check: all that can be said about the sources without running them.
import { globSync } from 'node:fs';
import { join } from 'node:path';
import { tmpdir } from 'node:os';
import { fileURLToPath } from 'node:url';
import { tableFaults } from './conformance/table-faults.ts';
import { paths } from './machine/paths.ts';
import { endLeftBehind, ProcessLedger } from './processes/process-ledger.ts';
import { Progress } from './machine/progress.ts';
import { runQuietly } from './processes/run-quietly.ts';
import { onStopSignal } from './processes/stop-signal.ts';
import { turbo } from './machine/turbo.ts';

type Command = Parameters<typeof run>[0];

const node = (...args: string[]): Command => ({ command: process.execPath, args, cwd: paths.root });
const tool = (path: string, ...args: string[]) => node(join(paths.modules, path), ...args);
/** The linters of descriptions are large, so they are this package's, not the root's, which each service is shipped with. */
const ownModules = fileURLToPath(new URL('../node_modules', import.meta.url));
const task = (name: string, ...args: string[]) =>
  node('--conditions=source', fileURLToPath(new URL(`${name}.ts`, import.meta.url)), ...args);

/** Of every OpenAPI and AsyncAPI document. Nothing of it is told to anybody. */
const lint = (linter: string, ...args: string[]): Command => ({
  ...node(join(ownModules, linter), 'lint', ...args, ...globSync('docs/*api/*.json', { cwd: paths.root })),
  env: { ...process.env, REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' },
});

const checks: [string, Command][] = [
  ['Formatting', tool('prettier/bin/prettier.cjs', '--check', '.')],
  ['Lint', tool('eslint/bin/eslint.js', '.', '--max-warnings=0')],
  ['Boundaries between packages', turbo('boundaries')],
  ['Types', turbo('run', 'typecheck', '--output-logs=errors-only', '--continue', '--concurrency=2')],
  ['Descriptions, as redocly sees them', lint('@redocly/cli/bin/cli.js', '--config=docs/redocly.yaml')],
  [
    'Descriptions, as spectral sees them',
    lint(
      '@stoplight/spectral-cli/dist/index.js',
      '--ruleset=docs/.spectral.yaml',
      '--fail-severity=hint',
      '--quiet',
    ),
  ],
  ['Migrations lead to their schemas', task('migration', 'check')],
];

const ledger = new ProcessLedger(join(tmpdir(), `assistance-check-${process.pid}.json`));
onStopSignal(() => {
  ledger.close();
  void endLeftBehind(ledger.file);
});
process.exitCode = await main(new Progress());

async function main(progress: Progress): Promise<number> {
  let faults = 0;
  const checkAll: [string, () => Promise<string | null>][] = [
    ['Each sentence of docs/conformance names a test that there is', conformanceFault],
    ['Generated files are in git', generatedFilesFault],
    ...checks.map(([name, command]): [string, () => Promise<string | null>] => [name, () => run(command)]),
  ];
  for (const [name, check] of checkAll) {
    const fault = await progress.step(name, check, (found) => found === null);
    if (fault === null) continue;
    faults++;
    progress.say(fault.replaceAll(/^/gm, '    '));
  }
  progress.say(faults === 0 ? 'All checks hold.' : `${faults} of ${checkAll.length} checks do not hold.`);
  return faults === 0 ? 0 : 1;
}

async function conformanceFault(): Promise<string | null> {
  const faults = tableFaults(paths.root);
  return faults.length === 0 ? null : faults.join('\n');
}

/** What a generator writes must be in git as it writes it. */
async function generatedFilesFault(): Promise<string | null> {
  const before = await workTree();
  const fault = await run(turbo('run', 'generate', 'describe', '--output-logs=errors-only'));
  if (fault !== null) return fault;
  const after = await workTree();
  return before === after ? null : `npm run generate changes these files; commit them:\n${after}`;
}

async function workTree(): Promise<string> {
  const git = (...args: string[]) =>
    runQuietly({ name: 'git', command: 'git', args, cwd: paths.root, ledger });
  return (await git('status', '--porcelain')).output + (await git('diff')).output;
}

/** What the command has against the sources; null if nothing. */
async function run(command: { command: string; args: string[]; cwd: string; env?: NodeJS.ProcessEnv }) {
  const { code, output } = await runQuietly({ name: 'check', ...command, ledger });
  return code === 0 ? null : output;
}
