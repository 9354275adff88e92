/** Thrown when the turn of a name did not come in time. */
export class TurnTimeout extends Error {
  constructor() {
    super('the turn did not come in time');
    this.name = 'TurnTimeout';
  }
}

export type TakeTurns = <T>(name: string, work: () => Promise<T>) => Promise<T>;

/**
 * Lets one piece of work with a name run at a time in this process; the others wait here, in line, and hold nothing that
 * anybody else needs (a database connection above all). Whoever waits longer than `timeoutMs` is told so.
 */
export function createTakeTurns({ timeoutMs }: { timeoutMs: number }): TakeTurns {
  const last = new Map<string, Promise<unknown>>();
  return async (name, work) => {
    const before = last.get(name);
    let leave = (): void => undefined;
    const left = new Promise<void>((resolve) => (leave = resolve));
    // The next in line waits for this one and, should this one give up, for all before it.
    const turn = Promise.all([before, left]);
    last.set(name, turn);
    void turn.then(() => {
      if (last.get(name) === turn) last.delete(name);
    });
    try {
      if (before !== undefined) await withDeadline(before, timeoutMs);
      return await work();
    } finally {
      leave();
    }
  };
}

async function withDeadline(before: Promise<unknown>, timeoutMs: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const overdue = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new TurnTimeout()), timeoutMs);
  });
  try {
    await Promise.race([before, overdue]);
  } finally {
    clearTimeout(timer);
  }
}
