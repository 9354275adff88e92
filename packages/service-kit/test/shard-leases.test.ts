import { describe, expect, test } from '@jest/globals';
import { waitUntil } from '@assistance/test-kit';
import { createLogger, ShardLeases, type Lease, type ShardLeasesOptions, type Sql } from '../src/index.ts';
import { freezable, openTestDatabase, type OpenDatabase } from './support/open-test-database.ts';

const SHARDS = 16;
const log = createLogger({ service: 'test', level: 'silent' });
interface Setting {
  database: OpenDatabase;
  /** An instance; stopped with the test. */
  start(options?: Partial<ShardLeasesOptions>): ShardLeases;
  /** Of each shard, by the database. */
  owners(): Promise<(string | null)[]>;
  /** Ends leases by the database's clock, as when their owner has been silent for long. */
  expire(leases: ShardLeases): Promise<unknown>;
}

const withDatabase = (body: (setting: Setting) => Promise<void>) => async () => {
  const database = await openTestDatabase();
  const { pool, sql } = database;
  const started: ShardLeases[] = [];
  try {
    await body({
      database,
      start: (options) => {
        const leases = new ShardLeases({ sql, name: 'outbox', shards: SHARDS, log, ...options });
        started.push(leases);
        leases.start();
        return leases;
      },
      owners: async () => {
        const { rows } = await pool.query('select owner from outbox_lease order by shard');
        return rows.map(({ owner }: { owner: string | null }) => owner);
      },
      expire: ({ owner }) =>
        Promise.all(
          ['outbox_lease', 'outbox_member'].map((table) =>
            pool.query(`update ${table} set until = now() - interval '1 second' where owner = $1`, [owner]),
          ),
        ),
    });
  } finally {
    await Promise.all(started.map((leases) => leases.stop()));
    await database.close();
  }
};
/** Lets go of a shard only once `ended` is resolved; `asked` says of how many it was to. */
function slowToLetGo() {
  const ended = Promise.withResolvers<void>();
  let count = 0;
  const onReleasing = (): Promise<void> => {
    count += 1;
    return ended.promise;
  };
  return { onReleasing, asked: () => count, ended };
}
const soon = <T>(check: () => T | Promise<T>) => waitUntil(check, { timeoutMs: 15_000 });
const holdsAll = (leases: ShardLeases) => soon(() => leases.heldShards().length === SHARDS);

test.concurrent(
  'one instance holds every shard',
  withDatabase(async ({ start }) => {
    const acquired: Lease[] = [];
    const alone = start({ onAcquired: (lease) => acquired.push(lease) });
    await holdsAll(alone);
    expect(acquired.map(({ shard }) => shard).sort((a, b) => a - b)).toEqual([...Array(SHARDS).keys()]);
    expect(acquired.every(({ epoch }) => epoch === 1n)).toBe(true);
    expect(alone.epochOf(3)).toBe(1n);
    expect([alone.holds(99), alone.epochOf(99)]).toEqual([false, undefined]);
  }),
);

test.concurrent(
  'two instances share, and no shard ever has two',
  withDatabase(async ({ start }) => {
    const one = start();
    await holdsAll(one);
    const two = start();
    await soon(() => {
      const both = one.heldShards().filter((shard) => two.holds(shard));
      expect(both).toEqual([]);
      return one.heldShards().length === 8 && two.heldShards().length === 8;
    });
  }),
);

test.concurrent(
  'three that start together share fairly, and the rest take over what one gives back',
  withDatabase(async ({ start }) => {
    const three = [start(), start(), start()];
    await soon(() => three.every((each) => [4, 5, 6].includes(each.heldShards().length)));
    await soon(() => three.flatMap((each) => each.heldShards()).length === SHARDS);
    await three[2]!.stop();
    await soon(() => three[0]!.heldShards().length === 8 && three[1]!.heldShards().length === 8);
  }),
);

describe('a stop', () => {
  test.concurrent(
    'hands over at once, under a higher epoch',
    withDatabase(async ({ database, start }) => {
      const one = start();
      await holdsAll(one);
      const two = start();
      await soon(() => two.heldShards().length === 8);
      const stoppedAt = performance.now();
      await one.stop();
      await holdsAll(two);
      expect(performance.now() - stoppedAt).toBeLessThan(2_500);
      const { rows } = await database.pool.query('select min(epoch)::int as least from outbox_lease');
      expect(rows[0].least).toBeGreaterThanOrEqual(2);
      expect(one.heldShards()).toEqual([]);
    }),
  );

  test.concurrent(
    'waits until what is under way is ended, and keeps the lease so long',
    withDatabase(async ({ start, owners }) => {
      const { onReleasing, asked, ended } = slowToLetGo();
      const one = start({ onReleasing });
      await holdsAll(one);
      const stop = one.stop();
      await soon(() => asked() === SHARDS);
      expect([one.holds(0), one.epochOf(0)]).toEqual([true, 1n]);
      expect(one.heldShards()).toEqual([]);
      expect(await owners()).toEqual(Array(SHARDS).fill(one.owner));
      ended.resolve();
      await stop;
      expect(await owners()).toEqual(Array(SHARDS).fill(null));
    }),
  );

  test.concurrent(
    'gives back what is let go of, while something of another shard is still under way',
    withDatabase(async ({ start, owners }) => {
      const ended = Promise.withResolvers<void>();
      const one = start({ onReleasing: ({ shard }) => (shard === 3 ? ended.promise : undefined) });
      await holdsAll(one);
      const stop = one.stop();
      const isOnlyMine = (each: string | null, shard: number) => each === (shard === 3 ? one.owner : null);
      await soon(async () => (await owners()).every(isOnlyMine));
      ended.resolve();
      await stop;
      expect(await owners()).toEqual(Array(SHARDS).fill(null));
    }),
  );

  test.concurrent(
    'goes through although letting go fails',
    withDatabase(async ({ start, owners }) => {
      const one = start({ onReleasing: () => Promise.reject(new Error('cannot')) });
      await holdsAll(one);
      await one.stop();
      expect(await owners()).toEqual(Array(SHARDS).fill(null));
    }),
  );
});

test.concurrent(
  'what is slow in letting go of a shard does not cost the others',
  withDatabase(async ({ database, start, owners }) => {
    const ended = Promise.withResolvers<void>();
    const one = start({ onReleasing: () => ended.promise });
    await holdsAll(one);
    const until = async () =>
      (
        await database.pool.query('select max(until) as until from outbox_lease where owner = $1', [
          one.owner,
        ])
      ).rows[0].until as Date;
    const two = start();
    await soon(() => one.heldShards().length === 8);
    const before = await until();
    // Two renewals later the leases still run on, those that are being let go of among them.
    await soon(async () => (await until()).getTime() > before.getTime() + 1_500);
    expect((await owners()).filter((owner) => owner === one.owner)).toHaveLength(SHARDS);
    expect(two.heldShards()).toEqual([]);
    ended.resolve();
    await soon(() => two.heldShards().length === 8);
  }),
);

test.concurrent(
  'what was lost is not acquired again before it is let go of',
  withDatabase(async ({ database, start, expire }) => {
    const { onReleasing, asked, ended } = slowToLetGo();
    const one = start({ onReleasing });
    await holdsAll(one);
    await expire(one);
    await soon(() => asked() === SHARDS);
    const announced = async () =>
      (await database.pool.query('select max(until) as until from outbox_member')).rows[0].until as Date;
    const before = await announced();
    // Two turns later it still has not asked for them.
    await soon(async () => (await announced()).getTime() > before.getTime() + 1_500);
    expect(one.heldShards()).toEqual([]);
    ended.resolve();
    await holdsAll(one);
    expect(one.epochOf(0)).toBe(2n);
  }),
);

describe('what an instance has in the database and does not know of comes to its end:', () => {
  /** Does as it is told, but loses the first answer to a statement that says this. */
  const losingAnAnswer = (sql: Sql, words: string): Sql => {
    let isLost = false;
    const lose = (text: string): void => {
      if (isLost || !text.includes(words)) return;
      isLost = true;
      throw new Error('Connection terminated unexpectedly');
    };
    return {
      $queryRawUnsafe: async (text, ...values) => {
        const answer = await sql.$queryRawUnsafe(text, ...values);
        lose(text);
        return answer as never;
      },
      $executeRawUnsafe: async (text, ...values) => {
        lose(text); // never came to the database
        return sql.$executeRawUnsafe(text, ...values);
      },
    };
  };

  test.concurrent(
    'shards whose acquisition it was not told of',
    withDatabase(async ({ database, start }) => {
      const one = start({ sql: losingAnAnswer(database.sql, 'epoch = l.epoch + 1') });
      await holdsAll(one);
      expect(one.epochOf(0)).toBe(2n);
    }),
  );

  test.concurrent(
    'a shard that it could not give back',
    withDatabase(async ({ database, start }) => {
      const one = start({ sql: losingAnAnswer(database.sql, 'set owner = null') });
      await holdsAll(one);
      const two = start();
      await soon(() => two.heldShards().length === SHARDS / 2);
    }),
  );
});

describe('an instance that is frozen', () => {
  test.concurrent(
    'holds nothing any more before its leases can have ended',
    withDatabase(async ({ database, start }) => {
      const sql = freezable(database.sql);
      const one = start({ sql });
      await holdsAll(one);
      const frozenAt = performance.now();
      sql.freeze();
      await soon(() => !one.holds(0));
      const { rows } = await database.pool.query(
        'select bool_and(until > clock_timestamp()) as still from outbox_lease',
      );
      expect(rows[0].still).toBe(true);
      expect(performance.now() - frozenAt).toBeLessThan(10_000);
      expect([one.heldShards(), one.epochOf(0)]).toEqual([[], undefined]);
      sql.thaw();
      await holdsAll(one);
    }),
  );

  test.concurrent(
    'is fenced off: the next owner has a higher epoch, and the frozen one learns that it lost',
    withDatabase(async ({ database, start, expire }) => {
      const sql = freezable(database.sql);
      const lost: Lease[] = [];
      const one = start({ sql, onReleasing: (lease) => void lost.push(lease) });
      await holdsAll(one);
      sql.freeze();
      await expire(one);
      const two = start();
      await holdsAll(two);
      expect(two.epochOf(0)).toBe(2n);

      // What the frozen one would record, joined to the lease as each recording is.
      const fenced = `update outbox_lease set until = until where shard = 0 and owner = $1 and epoch = $2`;
      expect((await database.pool.query(fenced, [one.owner, 1])).rowCount).toBe(0);
      expect((await database.pool.query(fenced, [two.owner, 2])).rowCount).toBe(1);

      sql.thaw();
      await soon(() => lost.length >= SHARDS);
      expect(lost.slice(0, SHARDS).every(({ epoch }) => epoch === 1n)).toBe(true);
      await soon(() => one.heldShards().length === 8 && two.heldShards().length === 8);
      for (const shard of one.heldShards()) expect(one.epochOf(shard)).toBe(3n);
    }),
  );
});

test.concurrent(
  'a database that is away and comes back costs nothing but time',
  withDatabase(async ({ database, start, expire }) => {
    let away = false;
    let refused = 0;
    const unlessAway = <T>(ask: () => PromiseLike<T>): PromiseLike<T> => {
      if (!away) return ask();
      refused += 1;
      return Promise.reject(new Error('away'));
    };
    const one = start({
      sql: {
        $queryRawUnsafe: (text, ...values) => unlessAway(() => database.sql.$queryRawUnsafe(text, ...values)),
        $executeRawUnsafe: (text, ...values) =>
          unlessAway(() => database.sql.$executeRawUnsafe(text, ...values)),
      },
    });
    await holdsAll(one);
    away = true;
    await expire(one);
    await soon(() => refused >= 2);
    away = false;
    await soon(() => one.epochOf(0) === 2n);
    await holdsAll(one);
  }),
);
