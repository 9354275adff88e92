// npm start [-- --once --instances 2 --deployment agency]: the whole platform on this machine, and its main job.
import { localFiles } from './platform/local-dir.ts';
import { LocalPlatform } from './platform/local-platform.ts';
import { MachineFault } from './machine/machine-fault.ts';
import { runMainJob } from './platform/main-job.ts';
import type { Platform } from './platform/platform-file.ts';
import { platformSettings, type PlatformSettings } from './platform/platform-settings.ts';
import { Progress, seconds } from './machine/progress.ts';
import { onStopSignal } from './processes/stop-signal.ts';

const progress = new Progress();
let platform: LocalPlatform | undefined;
let ending: Promise<void> | undefined;
/** Until then whoever waits for the result of the start must learn that there is none. */
let isUp = false;

// Output that cannot be written, for want of space say, is no reason to stop what runs.
for (const output of [process.stdout, process.stderr]) output.on('error', () => undefined);
onStopSignal(() => void end(isUp ? 0 : 130, 'Stopping …'));
process.on('uncaughtException', (error) => void end(1, `The local platform failed: ${error.stack}`));
process.on('unhandledRejection', (error) => void end(1, `The local platform failed: ${String(error)}`));
try {
  await main(platformSettings(process.argv.slice(2), process.env));
} catch (error) {
  await end(
    1,
    error instanceof MachineFault ? error.message : `The local platform failed: ${(error as Error).stack}`,
  );
}

async function main(settings: PlatformSettings): Promise<void> {
  const startedAt = performance.now();
  progress.say('Starting the platform on this machine');
  platform = new LocalPlatform(settings, process.env, progress);
  const addresses = await platform.open();
  progress.say(`  Ready after ${seconds(performance.now() - startedAt)}\n`);
  const worked = settings.deployment === 'agency' || (await showMainJob(addresses));
  if (settings.once)
    return end(worked ? 0 : 1, worked ? 'Stopping …' : `See ${localFiles(settings.localDir).logs}`);
  showAddresses(addresses, settings);
  isUp = true;
}

/** Whatever comes after the first end is passed over. */
function end(code: number, message: string): Promise<void> {
  return (ending ??= (async () => {
    progress.end();
    if (code !== 1) progress.say(`\n${message}`);
    else console.error(`\n${message}`);
    await platform?.close();
    process.exit(code);
  })());
}

async function showMainJob(addresses: Platform): Promise<boolean> {
  const startedAt = performance.now();
  progress.say('The main job, as the system of a partner does it');
  try {
    await runMainJob(addresses, (what, how) => {
      progress.say(`  ${seconds(performance.now() - startedAt).padStart(6)}  ${what.padEnd(12)}${how}`);
    });
    progress.say('  It works.');
    return true;
  } catch (error) {
    progress.say(`  It does not work: ${(error as Error).message}`);
    return false;
  }
}

function showAddresses(
  { applications, events, deliveries, token, sandbox }: Platform,
  settings: PlatformSettings,
): void {
  const { platform: file, logs } = localFiles(settings.localDir);
  const sandboxLine = settings.deployment === 'sandbox' ? `\n  Sandbox       ${sandbox}` : '';
  progress.say(`
The platform is up
  Applications  ${applications}
  Events        ${events}
  Deliveries    ${deliveries}
  Tokens        ${token}${sandboxLine}
  Clients, databases and all other addresses: ${file}
  Logs: ${logs}
  README.md says what to try next. Ctrl-C stops everything.`);
}
