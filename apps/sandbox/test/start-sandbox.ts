import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import got, { type Got } from 'got';
import { waitUntil } from '@assistance/test-kit';
import type { SandboxClient } from '../src/identity/load-clients.ts';

export const audience = 'https://assistance.example';

/** A sandbox in a process of its own, as the platform runs it. */
export interface StartedSandbox {
  url: string;
  opsUrl: string;
  port: number;
  stateDir: string;
  client(clientId: string): SandboxClient & { clientSecret: string };
  /** Of the client, with all its scopes. */
  token(clientId?: string): Promise<string>;
  /** Calls `/sandbox/v1` as `partner`; no answer is an exception. */
  control: Got;
  /** SIGKILL. */
  kill(): Promise<void>;
  /** Starts it again on the same port and state. */
  restart(): Promise<void>;
  /** SIGTERM; answers with the exit code. */
  stop(): Promise<number | null>;
  /** Ends it and forgets its state. */
  discard(): Promise<void>;
  /** All that it has written to its output. */
  output(): string;
}

export async function startSandbox(environment: Record<string, string> = {}): Promise<StartedSandbox> {
  const [port, opsPort] = [await freePort(), await freePort()];
  const stateDir = mkdtempSync(join(tmpdir(), 'sandbox-'));
  const url = `http://127.0.0.1:${port}`;
  const opsUrl = `http://127.0.0.1:${opsPort}`;
  const env = {
    HTTP_PORT: String(port),
    OPS_PORT: String(opsPort),
    PUBLIC_URL: `http://localhost:${port}`,
    KAFKA_BROKERS: '127.0.0.1:9',
    STATE_DIR: stateDir,
    UPSTREAMS: '{}',
    TOKEN_AUDIENCE: audience,
    DEPLOYMENT: 'sandbox',
    LOG_LEVEL: 'error',
    ...environment,
  };
  let output = '';
  let child: ChildProcess;
  await start();

  const token = async (clientId = 'partner'): Promise<string> => {
    const { clientSecret } = client(clientId);
    const answer = await got
      .post(`${url}/auth/token`, {
        username: clientId,
        password: clientSecret,
        form: { grant_type: 'client_credentials' },
      })
      .json<{ access_token: string }>();
    return answer.access_token;
  };
  const control = got.extend({
    prefixUrl: `${url}/sandbox/v1`,
    headers: { authorization: `Bearer ${await token()}` },
    responseType: 'json',
    throwHttpErrors: false,
    retry: { limit: 0 },
  });

  return {
    url,
    opsUrl,
    port,
    stateDir,
    client,
    token,
    control,
    kill: () => end('SIGKILL'),
    restart: start,
    stop: async () => {
      await end('SIGTERM');
      return child.exitCode;
    },
    discard: async () => {
      await end('SIGKILL');
      rmSync(stateDir, { recursive: true, force: true });
    },
    output: () => output,
  };

  async function start(): Promise<void> {
    child = spawn(process.execPath, ['--conditions=source', 'src/main.ts'], {
      env,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    child.stdout?.on('data', (text) => (output += String(text)));
    child.stderr?.on('data', (text) => (output += String(text)));
    await waitUntil(
      async () => {
        if (child.exitCode !== null) throw new Error(`the sandbox ended: ${output}`);
        return (await got(`${url}/auth/jwks`, { retry: { limit: 0 }, timeout: { request: 1_000 } })).ok;
      },
      { timeoutMs: 15_000 },
    );
  }

  async function end(signal: NodeJS.Signals): Promise<void> {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const exited = once(child, 'exit');
    child.kill(signal);
    await exited;
  }

  function client(clientId: string): SandboxClient & { clientSecret: string } {
    const clients = JSON.parse(readFileSync(join(stateDir, 'clients.json'), 'utf8')) as SandboxClient[];
    return clients.find((each) => each.clientId === clientId) as SandboxClient & { clientSecret: string };
  }
}

export async function freePort(): Promise<number> {
  const server = createServer().listen(0);
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}
