import type { Behaviour } from './receiver.ts';

export type ReplayMode = 'all' | 'failed' | 'missing';

export interface Subscriber {
  eventTypes: string[];
  ordering: 'none' | 'subject';
  behaviour: Omit<Behaviour, 'secret'>;
  /** What happens to it while the platform is disturbed: its receiver refuses for a while, or its owner pauses it. */
  trouble?: 'refuses' | 'paused';
  /** The modes of the replays that its owner asks for, in turn. */
  replays: ReplayMode[];
}

const everyMode: ReplayMode[] = ['all', 'failed', 'missing'];
const atOnce = { status: 204, delayMs: [0, 5], refuseOneIn: 0 } satisfies Subscriber['behaviour'];

/** Subscribers of several kinds, by name. */
export const subscribers: Record<string, Subscriber> = {
  healthy: {
    eventTypes: ['case.status_changed', 'application.decided', 'document.available', 'request.released'],
    ordering: 'none',
    behaviour: atOnce,
    replays: everyMode,
  },
  slow: {
    eventTypes: ['document.available'],
    ordering: 'none',
    behaviour: { ...atOnce, delayMs: [100, 500] },
    replays: everyMode,
  },
  refusing: {
    eventTypes: ['document.available', 'application.decided'],
    ordering: 'none',
    behaviour: atOnce,
    trouble: 'refuses',
    replays: everyMode,
  },
  paused: {
    eventTypes: ['request.released', 'case.status_changed'],
    ordering: 'none',
    behaviour: atOnce,
    trouble: 'paused',
    replays: everyMode,
  },
  ordered: {
    eventTypes: ['document.available', 'request.released'],
    ordering: 'subject',
    behaviour: { ...atOnce, delayMs: [5, 40], refuseOneIn: 20 },
    replays: ['failed', 'missing'],
  },
};
