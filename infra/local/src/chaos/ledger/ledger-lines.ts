// What the lines of the ledger say. It is written by those who submit, publish, receive and ask for replays, and by nobody
// else: it shares no code with the services.

/** One line when a submission is first sent, one for each answer that says it was accepted. */
export type SubmissionLine =
  | { step: 'sent'; key: string; program: string; applicantRef: string; at: number }
  | { step: 'accepted'; key: string; applicationId: string; at: number }
  | { step: 'refused'; key: string; status: number; code: string; at: number };

/** One line when an event is made, one when Kafka has acknowledged it. */
export type EventLine =
  | {
      step: 'sent';
      id: string;
      type: string;
      subject: string;
      /** Rises by one with each event of a subject. */
      sequence: number;
      /** The exact bytes, in base64. */
      body: string;
    }
  | { step: 'acknowledged'; id: string };

/** What a receiver got, written before it answers. */
export interface ReceptionLine {
  /** Milliseconds since 1970. */
  at: number;
  /** What it is about to answer. */
  status: number;
  id: string;
  type: string;
  subject: string;
  /** SHA-256 of the bytes that came. */
  digest: string;
  /** Whether X-Service-Signature fits these bytes and the subscription's secret. */
  signed: boolean;
  /** The event's own time, in ms since 1970. */
  time: number;
  /** Of the replay that it says it belongs to. */
  replayId: string | null;
  data: Record<string, unknown>;
}

/** One line when a replay was taken, one for each look at how far it is. */
export type ReplayLine =
  | { step: 'taken'; replayId: string; subscriber: string; mode: string; since: string }
  | { step: 'seen'; replayId: string; status: string; delivered: number };

/** A disturbance that was carried out. */
export interface DisturbanceLine {
  n: number;
  target: string;
  kind: 'kill' | 'freeze' | 'hold';
  durationMs: number;
  /** When it struck, and when the target was let go (at once, after a kill). */
  startedAt: number;
  endedAt: number;
  /** When all was ready again; null if the next one came before. */
  readyAt: number | null;
  inFlight: InFlight;
  /** Of these, through the target. */
  hit: number;
}

/** Requests under way. */
export interface InFlight {
  submissions: number;
  /** About subscriptions. */
  questions: number;
  publishes: number;
  deliveries: number;
}
