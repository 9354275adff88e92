import { bytesOf, type LogEvent } from '../log/event-log.ts';
import type { Tried } from './delivery-step.ts';

/** How many events a lane holds in memory that are not yet being sent; one with more reads on by itself. */
export const LANE_MEMORY = 64;
export const LANE_MEMORY_BYTES = 1_000_000;
/** A lane this far ahead of what is recorded waits for the recorder. */
const MAX_UNRECORDED = 512;

/** Positions of the log that a lane takes of one type, both ends included. */
export interface Span {
  type: string;
  fromSeq: number;
  toSeq: number | null;
}

/** What makes a lane a replay. */
export interface ReplayOf {
  replayId: string;
  mode: 'all' | 'failed' | 'missing';
  since: Date;
}

/** One delivery that is to be attempted now. */
export interface Job {
  lane: Lane;
  event: LogEvent;
  tried: Tried;
  /** Never recorded before: recording it moves the lane's cursor. */
  fresh: boolean;
  byHand?: ByHand;
}

/** What there is to know of a delivery that was asked for by hand. */
export interface ByHand {
  was: 'delivered' | 'dead' | 'retry' | 'blocked' | 'waiting';
  /**
   * With order per subject, when another of the subject is in flight or waits for its next attempt: this one neither
   * waits for it nor gives way to what is behind it. Known when it begins.
   */
  aside: boolean;
}

/** The delivery that others of its subject wait behind. */
export interface SubjectHead {
  seq: number;
  is: 'in_flight' | 'retrying';
}

/**
 * With order per subject, the subjects that are in flight in any lane of the subscription, and the lane that no replay
 * overtakes; null without.
 */
export type SubjectOrder = { readonly inFlight: ReadonlyMap<string, number>; readonly live: Lane } | null;

/** A read under way, and what arrived since it began. */
export interface Reading {
  arrived: LogEvent[];
  overflown: boolean;
}

/**
 * One stream to one subscriber, in memory: what is handed over, what is due again, and the cursor up to which all is
 * recorded. No I/O. Events come in the order of the log and are given out in it.
 */
export class Lane {
  readonly laneNo: number;
  readonly replay: ReplayOf | null;
  spans: Span[];
  /** All that the lane takes up to here is recorded. */
  cursor: number;
  /** When the earliest retry is due, in ms; Infinity when there is none. While that is looked up, of those since. */
  nextDueAt = Infinity;
  private lookingUpDue = false;
  readonly retries: Job[] = [];
  /** Positions that are being sent, or were sent and are not yet recorded. */
  readonly busy = new Set<number>();
  /** Positions in flight here that a replay has delivered meanwhile. */
  readonly settledElsewhere = new Set<number>();
  /** With order per subject: subjects of which a delivery is in flight, or waits for its next attempt. */
  readonly heldSubjects = new Map<string, SubjectHead>();
  /** Of a replay: subjects of which something is recorded as blocked behind what the live lane tries again. */
  readonly behindLive = new Set<string>();

  private waiting: LogEvent[] = [];
  private readUpTo: number;
  private isBehind = true;
  private reading: Reading | undefined;
  private readonly recordedBeyond: Set<number>;
  private open: number[] = [];
  private readonly settledAhead = new Set<number>();
  /** Positions that waited when that was forgotten. The cursor stays before them until they are read again. */
  private readonly forgotten = new Set<number>();
  /** Positions not read yet of which the delivery has begun, by hand, before its turn. */
  private readonly ahead = new Set<number>();

  constructor(options: {
    laneNo: number;
    replay: ReplayOf | null;
    spans: Span[];
    cursor: number;
    recordedBeyond: Iterable<number>;
  }) {
    this.laneNo = options.laneNo;
    this.replay = options.replay;
    this.spans = options.spans;
    this.cursor = options.cursor;
    this.readUpTo = options.cursor;
    this.recordedBeyond = new Set(options.recordedBeyond);
  }

  /** Whether the lane takes this event. */
  takes(event: { type: string; seq: number; onlyLane: number | null }): boolean {
    if (event.onlyLane !== null) return event.onlyLane === this.laneNo;
    return this.spans.some(
      ({ type, fromSeq, toSeq }) =>
        type === event.type && fromSeq <= event.seq && (toSeq === null || event.seq <= toSeq),
    );
  }

  /**
   * A new event of the log. A lane that is behind passes it over and reads it later; one that has read it already,
   * because its own read was ahead, passes it over too.
   */
  offer(event: LogEvent): void {
    if (event.seq <= this.readUpTo || !this.takes(event)) return;
    if (this.reading !== undefined) {
      if (hasRoom(this.reading.arrived)) this.reading.arrived.push(event);
      else this.reading.overflown = true;
    } else if (!this.isBehind) {
      if (hasRoom(this.waiting)) this.enqueue(event);
      else {
        this.isBehind = true;
        this.readUpTo = event.seq - 1;
      }
    }
  }

  get behind(): boolean {
    return this.isBehind;
  }

  /** Nothing is read that is not recorded. */
  get settled(): boolean {
    return this.open.length === 0 && this.busy.size === 0;
  }

  /** When the lane should read on: the position to read after. */
  wantsToRead(): number | undefined {
    const hungry = this.waiting.length < LANE_MEMORY / 4 && this.open.length < MAX_UNRECORDED;
    return this.isBehind && this.reading === undefined && hungry ? this.readUpTo : undefined;
  }

  beginRead(): Reading {
    this.reading = { arrived: [], overflown: false };
    return this.reading;
  }

  /**
   * Takes what a read brought. `complete` when it brought all that was committed when it began; then what arrived
   * meanwhile follows, and the lane is up to date.
   */
  endRead(reading: Reading, events: LogEvent[], complete: boolean): void {
    if (this.reading !== reading) return;
    this.reading = undefined;
    for (const event of events) if (this.takes(event) && event.seq > this.readUpTo) this.enqueue(event);
    this.readUpTo = Math.max(this.readUpTo, events.at(-1)?.seq ?? 0);
    for (const seq of this.forgotten) if (complete || seq <= this.readUpTo) this.close(seq); // no longer taken
    if (!complete || reading.overflown) return;
    this.isBehind = false;
    for (const event of reading.arrived) this.offer(event);
  }

  abandonRead(reading: Reading): void {
    if (this.reading === reading) this.reading = undefined;
  }

  /** Forgets what is waiting and not begun: a lane that may not send holds no memory, and reads again later. */
  forgetWaiting(): void {
    const first = this.waiting[0];
    this.reading = undefined;
    this.isBehind = true;
    this.forgetRetries();
    if (first === undefined) return;
    this.readUpTo = first.seq - 1;
    for (const { seq } of this.waiting) this.forgotten.add(seq);
    this.waiting = [];
  }

  /** Forgets what was looked up as due: it is looked up again. */
  forgetRetries(): void {
    if (this.retries.length > 0) this.becomesDue(0);
    this.retries.length = 0;
  }

  /** The spans have changed: what is waiting and no longer taken is dropped. */
  changeSpans(spans: Span[]): void {
    this.spans = spans;
    const dropped = new Set(this.waiting.filter((event) => !this.takes(event)).map((event) => event.seq));
    if (dropped.size === 0) return;
    this.waiting = this.waiting.filter((event) => !dropped.has(event.seq));
    this.open = this.open.filter((seq) => !dropped.has(seq));
  }

  hasJob(): boolean {
    return this.retries.length > 0 || this.waiting.length > 0;
  }

  get isLookingUpDue(): boolean {
    return this.lookingUpDue;
  }

  /** A delivery is to be tried again at this time. */
  becomesDue(at: number): void {
    this.nextDueAt = Math.min(this.nextDueAt, at);
  }

  beginLookingUpDue(): void {
    this.lookingUpDue = true;
    this.nextDueAt = Infinity;
  }

  /** What became due meanwhile may have been recorded too late to be in what was read: the earlier of both counts. */
  endLookingUpDue(nextDueAt: number): void {
    this.lookingUpDue = false;
    this.becomesDue(nextDueAt);
  }

  /** The next delivery in order: what is due again before what is new. With order per subject, one at a time for each. */
  takeJob(order: SubjectOrder): Job | undefined {
    return this.takeRetry(order) ?? this.takeFresh(order);
  }

  takeFresh(order: SubjectOrder): Job | undefined {
    const isHeld = (event: LogEvent): boolean =>
      order !== null &&
      (this.heldSubjects.has(event.subject) ||
        order.inFlight.has(event.subject) ||
        (order.live !== this && order.live.owesBefore(event)));
    const index = this.waiting.findIndex((each) => !this.busy.has(each.seq) && !isHeld(each));
    const event = this.waiting[index];
    if (event === undefined) return undefined;
    this.waiting.splice(index, 1);
    return this.firstJob(event);
  }

  takeRetry(order: SubjectOrder): Job | undefined {
    const isHeld = (subject: string): boolean =>
      order !== null && (this.heldSubjects.get(subject)?.is === 'in_flight' || order.inFlight.has(subject));
    const free = ({ event: { seq, subject } }: Job): boolean => !this.busy.has(seq) && !isHeld(subject);
    const index = this.retries.findIndex(free);
    return index === -1 ? undefined : this.retries.splice(index, 1)[0];
  }

  /**
   * Events whose subject waits for another's next attempt, here or in the live lane: they are recorded as blocked, so that
   * the lane can go on.
   */
  takeBlocked(live: Lane): LogEvent[] {
    const isBehindLive = (event: LogEvent): boolean =>
      live !== this && live.headBefore(event)?.is === 'retrying';
    const isBlocked = (event: LogEvent): boolean => {
      const head = this.heldSubjects.get(event.subject);
      const isBehind = head?.is === 'retrying' || (head === undefined && isBehindLive(event));
      return isBehind && !this.busy.has(event.seq) && (live === this || !live.comesToBefore(event));
    };
    const blocked = this.waiting.filter(isBlocked);
    if (blocked.length > 0) this.waiting = this.waiting.filter((event) => !isBlocked(event));
    for (const event of blocked) if (isBehindLive(event)) this.behindLive.add(event.subject);
    return blocked;
  }

  /** With order per subject: whether what is before this event of its subject is still to be delivered here. */
  private owesBefore(event: LogEvent): boolean {
    return this.headBefore(event) !== undefined || this.comesToBefore(event);
  }

  private headBefore({ seq, subject }: LogEvent): SubjectHead | undefined {
    const head = this.heldSubjects.get(subject);
    return head !== undefined && head.seq < seq ? head : undefined;
  }

  /** Whether something before this event of its subject has not begun here; what is not read yet may be of it. */
  private comesToBefore(event: LogEvent): boolean {
    const { seq, subject } = event;
    if (this.readUpTo < seq && (this.isBehind || this.takes(event))) return true;
    return this.waiting.some((each) => each.subject === subject && each.seq < seq);
  }

  /** A certain delivery that is held in memory, before its turn. */
  takeNow(seq: number): Job | undefined {
    const retry = this.retries.findIndex(({ event }) => event.seq === seq);
    if (retry !== -1) return this.retries.splice(retry, 1)[0];
    const waiting = this.waiting.findIndex((event) => event.seq === seq);
    return waiting === -1 ? undefined : this.firstJob(this.waiting.splice(waiting, 1)[0]!);
  }

  /** A delivery that the lane has not come to yet, before its turn; it is passed over when the lane comes to it. */
  takeUnread(event: LogEvent): Job | undefined {
    if (event.seq <= this.readUpTo || this.recordedBeyond.has(event.seq) || this.ahead.has(event.seq)) {
      return undefined;
    }
    this.ahead.add(event.seq);
    return this.firstJob(event);
  }

  /**
   * A replay has delivered it: it is not sent again from here, and its failure is no news. Answers whether others of its
   * subject waited behind its next attempt; until that is recorded, nothing more is blocked behind it.
   */
  settleOriginal({ seq, subject }: LogEvent): boolean {
    if (this.busy.has(seq)) this.settledElsewhere.add(seq);
    const index = this.retries.findIndex(({ event }) => event.seq === seq);
    if (index !== -1) this.retries.splice(index, 1);
    const head = this.heldSubjects.get(subject);
    if (head?.is !== 'retrying' || head.seq !== seq) return false;
    this.heldSubjects.set(subject, { seq, is: 'in_flight' });
    return true;
  }

  /** A fresh delivery is being recorded: the cursor moves on over all that is settled without a gap. */
  settle(seq: number): void {
    if (this.ahead.delete(seq)) {
      this.recordedBeyond.add(seq);
      return;
    }
    this.close(seq);
  }

  private close(seq: number): void {
    this.forgotten.delete(seq);
    this.settledAhead.add(seq);
    while (this.open.length > 0 && this.settledAhead.delete(this.open[0]!)) this.cursor = this.open.shift()!;
  }

  private enqueue(event: LogEvent): void {
    const { seq } = event;
    this.readUpTo = seq;
    if (this.recordedBeyond.delete(seq)) {
      if (this.forgotten.has(seq)) this.close(seq);
      return;
    }
    if (!this.forgotten.delete(seq) && !this.openAt(seq)) return;
    if (!this.ahead.delete(seq)) this.waiting.push(event);
  }

  /**
   * Notes a position as not yet recorded, in order; false when it is noted already: it had begun before what waited was
   * forgotten, and is now read again.
   */
  private openAt(seq: number): boolean {
    const last = this.open.at(-1);
    if (last === undefined || last < seq) {
      this.open.push(seq);
      return true;
    }
    const index = this.open.findIndex((each) => each >= seq);
    if (this.open[index] === seq) return false;
    this.open.splice(index, 0, seq);
    return true;
  }

  private firstJob(event: LogEvent): Job {
    return { lane: this, event, tried: { attempts: 0, counted: 0, wasDead: false }, fresh: true };
  }
}

const hasRoom = (events: LogEvent[]): boolean =>
  events.length < LANE_MEMORY && bytesOf(events) < LANE_MEMORY_BYTES;
