import { isDataFault, sqlStateOf, type ReceivedRecord, type Sql } from '@assistance/service-kit';
import { appendToLog } from './event-log.ts';
import { makeDayPartitions } from './day-partitions.ts';
import { readEvent, type IncomingEvent } from './read-event.ts';

const BATCH = { events: 500, bytes: 800_000, delayMs: 5 };
/** After a statement with so many events there are more to come, and waiting for them saves the next ones. */
const BUSY_EVENTS = 8;

interface Contribution {
  events: IncomingEvent[];
  resolve: () => void;
  reject: (error: unknown) => void;
}

/**
 * Takes events from all partitions together into the log: up to 500 records, 800 KB or 5 ms to one statement; while few
 * come, at once. Each `receive` resolves when its records are committed, so that its offset may be. At least once: the log
 * knows repeats.
 */
export class EventIntake {
  private readonly sql: Sql;
  private readonly onAppended: () => void;
  private queue: Contribution[] = [];
  private timer: NodeJS.Timeout | undefined;
  private flushing = false;
  /** How many events the last statement had. */
  private lastCount = 0;

  constructor(options: { sql: Sql; onAppended: () => void }) {
    this.sql = options.sql;
    this.onAppended = options.onAppended;
  }

  /** Throws for records of which one is no valid event, or that the database refuses as data. */
  receive(records: ReceivedRecord[]): Promise<void> {
    const events = records.map(readEvent);
    return new Promise((resolve, reject) => {
      this.queue.push({ events, resolve, reject });
      if (this.isFull()) void this.flush();
      else {
        const delayMs = this.lastCount < BUSY_EVENTS ? 0 : BATCH.delayMs;
        this.timer ??= setTimeout(() => {
          this.timer = undefined;
          void this.flush();
        }, delayMs);
      }
    });
  }

  private isFull(): boolean {
    let count = 0;
    let bytes = 0;
    for (const { events } of this.queue) {
      count += events.length;
      for (const event of events) bytes += event.body.length;
    }
    return count >= BATCH.events || bytes >= BATCH.bytes;
  }

  private async flush(): Promise<void> {
    if (this.flushing || this.queue.length === 0) return;
    this.flushing = true;
    const batch = this.queue;
    this.queue = [];
    try {
      await this.append(batch);
    } finally {
      this.flushing = false;
      if (this.queue.length > 0) void this.flush();
    }
  }

  private async append(batch: Contribution[]): Promise<void> {
    try {
      const events = batch.flatMap((contribution) => contribution.events);
      this.lastCount = events.length;
      if ((await this.appendWithPartitions(events)) > 0) this.onAppended();
      for (const { resolve } of batch) resolve();
    } catch (error) {
      // One contribution's bad record must not fail the others; its own consumer halves it further.
      if (batch.length > 1 && isDataFault(error)) {
        for (const contribution of batch) await this.append([contribution]);
      } else {
        for (const { reject } of batch) reject(error);
      }
    }
  }

  /** A missing day partition looks like bad data (23514); it is made, and the events are appended again. */
  private async appendWithPartitions(events: IncomingEvent[]): Promise<number> {
    try {
      return await appendToLog(this.sql, events);
    } catch (error) {
      if (sqlStateOf(error) !== '23514') throw error;
      await makeDayPartitions(this.sql);
      return appendToLog(this.sql, events);
    }
  }
}
