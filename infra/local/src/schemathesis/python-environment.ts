import { createHash } from 'node:crypto';
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { MachineFault } from '../machine/machine-fault.ts';
import type { ProcessLedger } from '../processes/process-ledger.ts';
import { runQuietly } from '../processes/run-quietly.ts';

const requirements = join(import.meta.dirname, 'requirements.txt');

/** A virtual environment in the folder with exactly what requirements.txt names, each file by its hash; answers its `st`. */
export async function pythonEnvironment(folder: string, ledger: ProcessLedger): Promise<string> {
  const command = join(folder, 'bin', 'st');
  const mark = join(folder, 'installed');
  const wanted = createHash('sha256').update(readFileSync(requirements)).digest('hex');
  if (existsSync(mark) && readFileSync(mark, 'utf8') === wanted) return command;
  rmSync(folder, { recursive: true, force: true });
  const run = (name: string, program: string, ...args: string[]) =>
    runQuietly({ name, command: program, args, ledger });
  const isFit = 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))';
  if ((await run('python', 'python3', '-c', isFit)).code !== 0)
    throw new MachineFault(
      'Schemathesis needs python3, 3.11 or newer, with its modules venv and ensurepip (Debian: python3-venv). Install it.',
    );
  const made = await run('venv', 'python3', '-m', 'venv', folder);
  if (made.code !== 0) throw new MachineFault(`No Python environment could be made:\n${made.output}`);
  const pip = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', '--no-deps'];
  const installed = await run(
    'pip',
    join(folder, 'bin', 'python'),
    ...pip,
    '--only-binary=:all:',
    '--require-hashes',
    `--requirement=${requirements}`,
  );
  if (installed.code !== 0)
    throw new MachineFault(
      `Schemathesis could not be installed. Is the Python package index reachable?\n${installed.output}`,
    );
  writeFileSync(mark, wanted);
  return command;
}
