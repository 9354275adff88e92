// npm start | test | reset | …: installs what is missing, then runs src/<task>.ts on Node 24.
// Runs on every Node from 20 on, so it uses nothing but what is built in.
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, lstatSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { delimiter, dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = join(dirname(fileURLToPath(import.meta.url)), '..', '..');
const modules = join(root, 'node_modules');
const installedMark = join(modules, '.installed-lockfile');
const pnpm = 'pnpm@10.34.9';
const [task, ...args] = process.argv.slice(2);

/** What runs for us at the moment; it is told to stop when we are. */
let child;
let stopping = false;

if (task === '--install') guardedInstall();
else await main();

async function main() {
  checkMachine();
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => stop(signal));
  stopWithParent();
  if (!isInstalled()) await install();
  linkNode();
  const node = node24();
  const flags = ['--conditions=source', '--disable-warning=ExperimentalWarning'];
  child = spawn(node, [...flags, join(root, 'infra/local/src', `${task}.ts`), ...args], {
    stdio: ['inherit', 'inherit', 'inherit', 'ipc'], // a closed channel tells the task that we are gone
    env: { ...process.env, PATH: [dirname(node), join(modules, '.bin'), process.env.PATH].join(delimiter) },
  });
  const { code, signal } = await exitOf(child);
  process.exit(code ?? (signal === 'SIGINT' ? 130 : 143));
}

function checkMachine() {
  const tasks = Object.keys(JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')).scripts);
  if (!tasks.includes(task)) fail(`There is no task "${task ?? ''}". Tasks: ${tasks.join(', ')}.`);
  if (nodeMajor() < 20)
    fail(`Node ${process.versions.node} is too old. Install Node 20 or newer (24 is best).`);
}

function isInstalled() {
  return existsSync(installedMark) && readFileSync(installedMark, 'utf8') === lockfileHash();
}

function lockfileHash() {
  const hash = createHash('sha256');
  for (const file of ['pnpm-lock.yaml', 'pnpm-workspace.yaml']) hash.update(readFileSync(join(root, file)));
  return hash.digest('hex');
}

async function install() {
  const startedAt = Date.now();
  let output = '';
  const seconds = () => Math.round((Date.now() - startedAt) / 1000);
  const show = (text) => process.stdout.write(process.stdout.isTTY ? `\r\x1b[K${text}` : `${text}\n`);
  show('Installing packages (about half a minute the first time) …');
  const ticking = setInterval(
    () => show(`Installing packages … ${seconds()} s  ${lastProgress(output)}`),
    process.stdout.isTTY ? 500 : 5000,
  );
  child = spawn(process.execPath, [fileURLToPath(import.meta.url), '--install'], { detached: true });
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += chunk));
  const { code } = await exitOf(child);
  clearInterval(ticking);
  if (stopping) process.exit(130);
  if (code !== 0) {
    const tail = output.trim().split('\n').slice(-25).join('\n');
    fail(`\n${tail}\n\nThe packages could not be installed (see above). Is the package registry reachable?`);
  }
  writeFileSync(installedMark, lockfileHash());
  show(`Installed packages in ${seconds()} s.${process.stdout.isTTY ? '\n' : ''}`);
}

function lastProgress(output) {
  const from = output.lastIndexOf('Progress: ');
  return from < 0 ? '' : output.slice(from).split('\n')[0];
}

/** The installer in a process group of its own, which ends as soon as its standard input closes. */
function guardedInstall() {
  const endGroup = () => process.kill(-process.pid, 'SIGKILL');
  process.stdin.on('end', endGroup).on('error', endGroup).resume();
  const installer = spawn('npx', ['--yes', pnpm, 'install', '--frozen-lockfile', '--reporter=append-only'], {
    cwd: root,
    stdio: ['ignore', 'inherit', 'inherit'],
    env: { ...process.env, npm_config_confirm_modules_purge: 'false' },
  });
  installer.on('error', () => {
    console.error('npx was not found: install npm (it comes with Node).');
    process.exit(1);
  });
  installer.on('exit', (code) => process.exit(code ?? 1));
}

/** pnpm's own .bin/node is a shell script that hands on no signal; every other script in .bin would use it. */
function linkNode() {
  const link = join(modules, '.bin', 'node');
  if (!existsSync(lockfileNode()) || lstatSync(link, { throwIfNoEntry: false })?.isSymbolicLink()) return;
  rmSync(link, { force: true });
  symlinkSync(relative(dirname(link), lockfileNode()), link);
}

function node24() {
  if (nodeMajor() >= 24) return process.execPath;
  if (existsSync(lockfileNode())) return lockfileNode();
  return fail(
    `Node ${process.versions.node} is too old on ${process.platform}/${process.arch}. Install Node 24 or newer.`,
  );
}

function lockfileNode() {
  return join(modules, `node-${process.platform}-${process.arch}`, 'bin', 'node');
}

function nodeMajor() {
  return Number(process.versions.node.split('.')[0]);
}

function exitOf(started) {
  return new Promise((resolve) => {
    started.on('error', (error) =>
      fail(`${started.spawnfile} cannot be run (${error.code}). Install Node 24.`),
    );
    started.on('exit', (code, signal) => resolve({ code, signal }));
  });
}

function stop(signal) {
  stopping = true;
  if (child?.stdin) child.stdin.end();
  else if (child) child.kill(signal);
  else process.exit(130);
}

/** A killed npm takes nobody with it, neither us nor the shell between, so we look whether both are still there. */
function stopWithParent() {
  if (!process.env.npm_lifecycle_event) return;
  const ancestors = () => `${process.ppid} ${parentOf(process.ppid)}`;
  const first = ancestors();
  setInterval(() => ancestors() === first || stop('SIGTERM'), 500).unref();
}

function parentOf(pid) {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1];
  } catch {
    return ''; // no Linux, or it ended
  }
}

function fail(message) {
  console.error(message);
  process.exit(1);
}
