import { appendFileSync, mkdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import type { IncomingHttpHeaders } from 'node:http';
import { join } from 'node:path';
import { readJsonFile } from '../state/read-json-file.ts';
import { replaceFile } from '../state/replace-file.ts';
import { inboxSettings, nextSettings, type InboxSettings, type InboxWish } from './inbox-settings.ts';
import { signatureVerifies } from './signature-verifies.ts';

/** How many requests an inbox shows. */
export const SHOWN = 1_000;

interface Kept {
  number: number;
  receivedAt: string;
  headers: Record<string, string | string[]>;
  body: string;
  verified: boolean | null;
}

/** A request as the inbox shows it; `verified` is null for as long as no secret is known. */
export type Received = Omit<Kept, 'number'>;

/**
 * A receiver of deliveries. What it received is written, one line a request, before the request is answered, so that
 * nothing that was acknowledged is forgotten when the process is killed; requests of the same moment share one write.
 * A line begins with its newline, so one that was cut short spoils no other. Lines go to `current`; when that holds
 * 1 000 it becomes `previous` and the one before is dropped, so keeping the last 1 000 costs nothing.
 */
export class Inbox {
  private readonly folder: string;
  private settings: InboxSettings;
  private nextNumber: number;
  private linesInCurrent: number;
  private unwritten: string[] = [];
  private written: Promise<void> | undefined;

  private constructor(folder: string, settings: InboxSettings) {
    this.folder = folder;
    this.settings = settings;
    const current = readLines(join(folder, 'current'));
    const last = current.at(-1) ?? readLines(join(folder, 'previous')).at(-1);
    this.linesInCurrent = current.length;
    this.nextNumber = (last?.number ?? 0) + 1;
  }

  /** The inbox that an earlier PUT made in this folder; undefined when none did. */
  static open(folder: string): Inbox | undefined {
    const settings = readJsonFile(join(folder, 'settings.json'), inboxSettings);
    return settings === undefined ? undefined : new Inbox(folder, settings);
  }

  static make(folder: string, wish: InboxWish): Inbox {
    const settings = nextSettings(undefined, wish, 1);
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    replaceFile(join(folder, 'settings.json'), JSON.stringify(settings));
    return new Inbox(folder, settings);
  }

  change(wish: InboxWish): void {
    this.settings = nextSettings(this.settings, wish, this.nextNumber);
    replaceFile(join(this.folder, 'settings.json'), JSON.stringify(this.settings));
  }

  /** How the inbox was set, without its secret. */
  describe() {
    const { status, delayMs, failFirst, secret } = this.settings;
    return { status, delayMs, failFirst, hasSecret: secret !== null };
  }

  /** Keeps a request; resolves, once it is kept, with how to answer. */
  async take(
    headers: IncomingHttpHeaders,
    body: Buffer,
    now: Date,
  ): Promise<{ status: number; delayMs: number }> {
    const { status, delayMs, failUntil, secret } = this.settings;
    const number = this.nextNumber++;
    const verified = secret === null ? null : signatureVerifies(headers, body, secret, now);
    this.unwritten.push(
      `\n${JSON.stringify({ number, receivedAt: now.toISOString(), headers, body: body.toString(), verified })}`,
    );
    this.written ??= new Promise((resolve, reject) => {
      setImmediate(() => {
        try {
          this.write();
          resolve();
        } catch (error) {
          reject(error instanceof Error ? error : new Error('the inbox could not be written'));
        }
      });
    });
    await this.written;
    return { status: number < failUntil ? 500 : status, delayMs };
  }

  /** The last 1 000 requests, oldest first. Those that came before the secret was known are verified now. */
  received(): Received[] {
    const kept = [...readLines(join(this.folder, 'previous')), ...readLines(join(this.folder, 'current'))];
    const { secret } = this.settings;
    return kept.slice(-SHOWN).map(({ receivedAt, headers, body, verified }) => ({
      receivedAt,
      headers,
      body,
      verified:
        verified === null && secret !== null
          ? signatureVerifies(headers, Buffer.from(body), secret, new Date(receivedAt))
          : verified,
    }));
  }

  remove(): void {
    rmSync(this.folder, { recursive: true, force: true });
  }

  private write(): void {
    const lines = this.unwritten;
    this.unwritten = [];
    this.written = undefined;
    if (this.linesInCurrent >= SHOWN) {
      renameSync(join(this.folder, 'current'), join(this.folder, 'previous'));
      this.linesInCurrent = 0;
    }
    appendFileSync(join(this.folder, 'current'), lines.join(''), { mode: 0o600 });
    this.linesInCurrent += lines.length;
  }
}

function readLines(path: string): Kept[] {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
  return text.split('\n').flatMap((line) => {
    try {
      return line === '' ? [] : [JSON.parse(line) as Kept];
    } catch {
      return [];
    }
  });
}
