import { mkdirSync, writeFileSync } from 'node:fs';
import { cpus, loadavg } from 'node:os';
import { join, relative } from 'node:path';
import { createTestIssuer } from '@assistance/test-kit';
import { MachineFault } from '../machine/machine-fault.ts';
import { localDirOf, paths } from '../machine/paths.ts';
import { Progress, seconds } from '../machine/progress.ts';
import { turbo } from '../machine/turbo.ts';
import { runQuietly } from '../processes/run-quietly.ts';
import { withThrowawayStack, type ThrowawayStack } from '../test-run/throwaway-stack.ts';
import { figureTable } from './figure-table.ts';
import { isMet, type Figure } from './row.ts';
import { rows } from './rows.ts';

const usage = `Usage: npm run bench [-- <row> …]
Rows:
${rows.map(({ name, about }) => `  ${name.padEnd(22)}${about}`).join('\n')}
Variables: RUNS (3) of which the median counts; PROFILE=1 writes processor profiles of the services beside the figures`;

/**
 * Runs the rows that are named, or all, on a Postgres and a Kafka of their own. A row that fails
 * does not keep the others from being measured. Exit code 0 if every goal is met.
 */
export async function runBench(
  names: string[],
  environment: NodeJS.ProcessEnv,
  signal: AbortSignal,
): Promise<number> {
  const unknown = names.find((name) => !rows.some((row) => row.name === name));
  if (unknown !== undefined) throw new MachineFault(`There is no row "${unknown}".\n${usage}`);
  const wanted = rows.filter(({ name }) => names.length === 0 || names.includes(name));
  const runs = runsOf(environment['RUNS']);
  const startedAt = new Date();
  const folder = join(
    localDirOf(environment),
    'bench',
    startedAt.toISOString().slice(0, 19).replaceAll(':', '-'),
  );
  mkdirSync(folder, { recursive: true });
  const progress = new Progress();
  const figures: Figure[] = [];
  const failed: string[] = [];
  await withThrowawayStack({ kafka: true, durable: true, signal }, async (stack) => {
    await progress.step('Services built', () => build(stack));
    const issuer = await createTestIssuer();
    const profile = environment['PROFILE'] === '1';
    const bench = { stack, issuer, folder, profile, runs, signal, say: (line: string) => progress.say(line) };
    try {
      for (const { name, run } of wanted) {
        signal.throwIfAborted();
        try {
          figures.push(...(await progress.step(name, () => run(bench))));
        } catch (error) {
          signal.throwIfAborted();
          progress.say(`  ✗ ${name}: ${(error as Error).stack}`);
          failed.push(name);
        }
        write(
          folder,
          startedAt,
          wanted.map((row) => row.name),
          figures,
        );
      }
    } finally {
      await issuer.close();
    }
  });
  console.log(`\n${figureTable(figures)}\n\n${circumstances(startedAt)}`);
  console.log(`Written to ${relative(paths.root, folder)}`);
  if (failed.length > 0) console.log(`Not measured: ${failed.join(', ')}`);
  return failed.length > 0 || figures.some((figure) => isMet(figure) === false) ? 1 : 0;
}

function runsOf(text = '3'): number {
  if (/^[1-9]\d?$/.test(text)) return Number(text);
  throw new MachineFault(`RUNS is a whole number from 1 to 99.\n${usage}`);
}

async function build({ ledger }: ThrowawayStack): Promise<void> {
  const command = turbo('run', 'build', '--filter=./apps/*', '--output-logs=errors-only');
  const { code, output } = await runQuietly({ name: 'build', ...command, ledger });
  if (code !== 0) throw new MachineFault(`The services could not be built:\n${output}`);
}

/** After each row, so that an interruption keeps what was measured. */
function write(folder: string, startedAt: Date, names: string[], figures: Figure[]): void {
  const command = `npm run bench -- ${names.join(' ')}`;
  writeFileSync(
    join(folder, 'figures.md'),
    `\`${command}\`\n\n${figureTable(figures)}\n\n${circumstances(startedAt)}\n`,
  );
  writeFileSync(
    join(folder, 'figures.json'),
    JSON.stringify({ command, at: startedAt, node: process.version, load: loadavg(), figures }, null, 2),
  );
}

function circumstances(startedAt: Date): string {
  const took = seconds(Date.now() - startedAt.getTime());
  const load = loadavg().map((average) => average.toFixed(1));
  return `${startedAt.toISOString()}, ${took}; Node ${process.versions.node}, ${cpus().length} processors, load ${load.join(' ')} at the end`;
}
