import { createSigner, type Signer } from '@assistance/webhook-signature';
import type { Ordering, SubscriptionStatus } from '@assistance/types';
import type { Target } from '../sending/send-webhook.ts';
import type { Judgement } from './judge-subscription.ts';
import type { Job, Lane, SubjectOrder } from './lane.ts';

/** A secret ready to sign, until it expires. */
export interface LiveSecret {
  secret: string;
  expiresAt: Date | null;
}

/** What the owner of a subscription last said of it. */
export interface OwnersWord {
  status: 'active' | 'paused' | 'deleted';
  statusEpoch: number;
  ordering: Ordering;
  target: Target;
  secrets: LiveSecret[];
}

/**
 * All lanes to one subscriber, with what they share: concurrency, order, holds and the judgement. Decides what is sent
 * next; no I/O.
 */
export class SubscriptionLanes {
  readonly subscriptionId: string;
  readonly shard: number;
  readonly live: Lane;
  readonly replays = new Map<number, Lane>();
  word: OwnersWord;
  judgement: Judgement;
  /** How many reports there were. */
  reportNumber: number;
  private readonly madeAt: Date;
  /** Deliveries asked for by hand: they go first, also while failing, and beside a lane that hangs. */
  readonly forced: Job[] = [];
  /** What is told when an attempt by hand is recorded or given up, by delivery. */
  readonly askedByHand = new Map<string, (result: 'done' | 'later') => void>();
  /** Those that are still being looked up. */
  readonly preparing = new Set<Promise<void>>();
  inFlight = 0;
  /** With order per subject: how many times it is being found out what comes next of a subject. */
  releasing = 0;
  /** Begins nothing new for a moment: it is being handed over, or read anew. */
  suspended = false;
  /** No longer this instance's: what comes of its deliveries is not recorded. */
  dropped = false;
  private replaysInFlight = 0;
  /** How many deliveries of a subject are in flight, but for those that were asked for by hand and stand aside. */
  private readonly subjectsInFlight = new Map<string, number>();
  private lastWasLive = false;
  private signer: { sign: Signer; until: number } | undefined;

  constructor(options: {
    subscriptionId: string;
    shard: number;
    live: Lane;
    word: OwnersWord;
    judgement: Judgement;
    reportNumber: number;
    /** When its live lane was made. */
    madeAt: Date;
  }) {
    this.subscriptionId = options.subscriptionId;
    this.shard = options.shard;
    this.live = options.live;
    this.word = options.word;
    this.judgement = options.judgement;
    this.reportNumber = options.reportNumber;
    this.madeAt = options.madeAt;
  }

  /** Higher than every one before, also of a lane that was lost and made anew: there is no report for each millisecond. */
  nextReportNumber(): number {
    this.reportNumber += 1;
    return this.madeAt.getTime() + this.reportNumber;
  }

  lanes(): Lane[] {
    return [this.live, ...this.replays.values()];
  }

  get status(): SubscriptionStatus | 'deleted' {
    return this.word.status === 'active' ? this.judgement.judged : this.word.status;
  }

  /** Whether anything may be sent now; paused and held mean buffered. */
  maySend(now: number): boolean {
    const { status } = this;
    return (status === 'active' || status === 'failing') && now >= (this.judgement.holdUntil ?? 0);
  }

  /** The next delivery to begin, or undefined when none may begin now. */
  next(now: number, concurrency: number): Job | undefined {
    const forced = this.nextForced(concurrency);
    if (forced !== undefined) return forced;
    if (!this.maySend(now)) return undefined;
    return this.status === 'failing' ? this.nextProbe() : this.nextInOrder(concurrency);
  }

  began(job: Job): void {
    this.inFlight += 1;
    this.lastWasLive = job.lane.replay === null;
    if (!this.lastWasLive) this.replaysInFlight += 1;
    job.lane.busy.add(job.event.seq);
    if (job.byHand?.aside === true) return;
    const { subject, seq } = job.event;
    this.subjectsInFlight.set(subject, (this.subjectsInFlight.get(subject) ?? 0) + 1);
    if (this.bySubject) job.lane.heldSubjects.set(subject, { seq, is: 'in_flight' });
  }

  ended(job: Job): void {
    this.inFlight -= 1;
    if (job.lane.replay !== null) this.replaysInFlight -= 1;
    if (job.byHand?.aside === true) return;
    const { subject } = job.event;
    const others = (this.subjectsInFlight.get(subject) ?? 1) - 1;
    if (others === 0) this.subjectsInFlight.delete(subject);
    else this.subjectsInFlight.set(subject, others);
  }

  private get subjectOrder(): SubjectOrder {
    return this.bySubject ? { inFlight: this.subjectsInFlight, live: this.live } : null;
  }

  get bySubject(): boolean {
    return this.word.ordering === 'subject';
  }

  /** Signs with every secret that is live now. */
  sign(now: number): Signer {
    if (this.signer === undefined || now >= this.signer.until) {
      const live = this.word.secrets.filter(
        ({ expiresAt }) => expiresAt === null || expiresAt.getTime() > now,
      );
      const ends = live.map(({ expiresAt }) => expiresAt?.getTime() ?? Infinity);
      this.signer = {
        sign: createSigner(live.map(({ secret }) => secret)),
        until: Math.min(Infinity, ...ends),
      };
    }
    return this.signer.sign;
  }

  changeWord(word: OwnersWord): void {
    this.word = word;
    this.signer = undefined;
  }

  private nextForced(concurrency: number): Job | undefined {
    if (this.inFlight >= 2 * concurrency) return undefined;
    const job = this.status === 'active' || this.status === 'failing' ? this.forced.shift() : undefined;
    if (job?.byHand === undefined || !this.bySubject) return job;
    const { was } = job.byHand;
    const isHeld = job.lane.heldSubjects.has(job.event.subject);
    return { ...job, byHand: { was, aside: was === 'delivered' || (was !== 'retry' && isHeld) } };
  }

  /** While failing one is tried at a time: the next never tried, and when there is none, one tried long ago. */
  private nextProbe(): Job | undefined {
    if (this.inFlight > 0) return undefined;
    for (const lane of this.lanes()) {
      const job = lane.takeFresh(this.subjectOrder);
      if (job !== undefined) return job;
    }
    for (const lane of this.lanes()) {
      const job = lane.takeRetry(this.subjectOrder);
      if (job !== undefined) return job;
    }
    return undefined;
  }

  /** Replays get at most half of the concurrency while live deliveries wait; where that is one, every second turn. */
  private nextInOrder(concurrency: number): Job | undefined {
    if (this.inFlight >= concurrency) return undefined;
    const waitingReplays = [...this.replays.values()].filter((lane) => lane.hasJob());
    // While the live lane reads on, something of it may wait.
    const isHalf = this.replaysInFlight >= Math.max(1, Math.floor(concurrency / 2));
    const mayBeTooMany = this.live.behind && !this.live.hasJob() && isHalf;
    if (waitingReplays.length === 0 || mayBeTooMany) return this.live.takeJob(this.subjectOrder);
    const liveInFlight = this.inFlight - this.replaysInFlight;
    const replaysFirst = concurrency === 1 ? this.lastWasLive : liveInFlight >= Math.ceil(concurrency / 2);
    const lanes = replaysFirst ? [...waitingReplays, this.live] : [this.live, ...waitingReplays];
    for (const lane of lanes) {
      const job = lane.takeJob(this.subjectOrder);
      if (job === undefined) continue;
      // The next replay has its turn next time.
      if (this.replays.delete(lane.laneNo)) this.replays.set(lane.laneNo, lane);
      return job;
    }
    return undefined;
  }
}

/** Names one delivery of a subscription. */
export const keyOf = (laneNo: number, seq: number): string => `${laneNo}.${seq}`;
