import { MachineFault } from '../machine/machine-fault.ts';
import { onStopSignal } from './stop-signal.ts';

/**
 * Runs a command to its end, which answers the exit code of this process. When the person stops it the signal is aborted, and
 * the exit code is 130. What the machine lacks is told in words; any other error is thrown.
 */
export async function runUntilStopped(command: (signal: AbortSignal) => Promise<number>): Promise<void> {
  const stopping = new AbortController();
  onStopSignal(() => stopping.abort());
  try {
    process.exitCode = await command(stopping.signal);
  } catch (error) {
    if (!stopping.signal.aborted && !(error instanceof MachineFault)) throw error;
    if (error instanceof MachineFault) console.error(`\n${error.message}`);
    process.exitCode = stopping.signal.aborted ? 130 : 1;
  }
}
