import { spawn } from 'node:child_process';
import { freePort } from './free-port.ts';
import { waitUntil } from './wait-until.ts';

export interface ServiceProcessOptions {
  /** The service's folder. */
  folder: string;
  /** All but the ports. */
  environment: Record<string, string>;
  /** Shows what it writes as it writes it. */
  echo?: boolean;
}

export interface ServiceProcess {
  /** Where its interface is, without a path. */
  url: string;
  pid: number;
  /** All that it has written. */
  output(): string;
  /** Its log, as far as written. */
  logLines(): Record<string, unknown>[];
  /** The status of `/livez`; 0 when nobody answers. */
  liveness(): Promise<number>;
  /** What it says is missing: nothing when it is ready. */
  missing(): Promise<string[]>;
  untilReady(timeoutMs?: number): Promise<void>;
  /** The value of a metric that has no labels but the service's. */
  metric(name: string): Promise<number>;
  /** Gives it no more of the processor, until it is thawed. */
  freeze(): void;
  thaw(): void;
  /** Sends a signal, and answers how and when it ended. */
  end(signal: 'SIGTERM' | 'SIGKILL'): Promise<{ code: number | null; durationMs: number }>;
}

/** Runs a service as it is run in production, in a process of its own, and does not wait for anything. */
export async function startServiceProcess(options: ServiceProcessOptions): Promise<ServiceProcess> {
  const [httpPort, opsPort] = [await freePort(), await freePort()];
  const child = spawn(process.execPath, ['--conditions=source', 'src/main.ts'], {
    cwd: options.folder,
    env: {
      PATH: process.env['PATH'],
      ...options.environment,
      HTTP_PORT: String(httpPort),
      OPS_PORT: String(opsPort),
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk) => (output += String(chunk)));
    if (options.echo === true) stream.pipe(process.stderr, { end: false });
  }
  const ended = new Promise<number | null>((resolve) => child.once('close', (code) => resolve(code)));
  const ask = (path: string) =>
    fetch(`http://127.0.0.1:${opsPort}${path}`, { signal: AbortSignal.timeout(2_000) });
  const missing = async (): Promise<string[]> =>
    ((await (await ask('/readyz')).json()) as { missing: string[] }).missing;

  return {
    url: `http://127.0.0.1:${httpPort}`,
    pid: child.pid ?? 0,
    output: () => output,
    logLines: () =>
      output
        .split('\n')
        .filter((line) => line.startsWith('{') && line.endsWith('}'))
        .map((line) => JSON.parse(line) as Record<string, unknown>),
    liveness: () =>
      ask('/livez').then(
        ({ status }) => status,
        () => 0,
      ),
    missing,
    untilReady: async (timeoutMs = 20_000) => {
      await waitUntil(
        async () => {
          const absent = await missing();
          if (absent.length > 0) throw new Error(`missing: ${absent.join(', ')}`);
          return true;
        },
        { timeoutMs, intervalMs: 50 },
      ).catch((cause: unknown) => {
        throw new Error(`It did not become ready (${String(cause)}):\n${output.slice(-3_000)}`, { cause });
      });
    },
    metric: async (name) => {
      const text = await (await ask('/metrics')).text();
      return Number(new RegExp(`^${name}(?:\\{[^}]*\\})? (\\S+)$`, 'm').exec(text)?.[1]);
    },
    freeze: () => void child.kill('SIGSTOP'),
    thaw: () => void child.kill('SIGCONT'),
    end: async (signal) => {
      const startedAt = performance.now();
      child.kill(signal);
      child.kill('SIGCONT'); // a frozen one hears no SIGTERM
      return { code: await ended, durationMs: performance.now() - startedAt };
    },
  };
}
