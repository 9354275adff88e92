import { randomUUID } from 'node:crypto';
import type { Logger } from '../runtime/logger.ts';
import { PollLoop } from '../runtime/poll-loop.ts';
import type { Part } from '../runtime/run-service.ts';
import type { Sql } from './sql.ts';

const LEASE_MS = 10_000;
const TICK_MS = 1_000;
/** The local deadline is this much earlier than the database's, for the way there and back. */
const MARGIN_MS = 1_000;

export interface Lease {
  shard: number;
  epoch: bigint;
}

export interface ShardLeasesOptions {
  sql: Sql;
  /** The tables `<name>_lease(shard, owner, epoch, until)` and `<name>_member(owner, until)`. */
  name: string;
  shards: number;
  log: Logger;
  /** A shard is now this instance's. */
  onAcquired?: (lease: Lease) => void;
  /**
   * A shard is wanted by another instance or lost: resolves when this instance has let go of it. Until then the lease is
   * kept, so that what is under way can be ended, but it is no longer among the held shards.
   */
  onReleasing?: (lease: Lease) => Promise<void> | void;
}

interface HeldLease extends Lease {
  /** By `performance.now()`. */
  deadline: number;
  releasing: boolean;
}

/**
 * Divides shards fairly among the instances that are alive, each shard with one owner at a time.
 *
 * Guarantees: an epoch rises with every change of owner, so a statement that joins the lease on owner and epoch is
 * refused after a takeover, however long its sender was frozen. `holds` is false before the lease can have ended by the
 * database's clock. What was lost is not acquired again before this instance has let go of it. A stop gives everything back at
 * once; after a kill the rest take over when the lease ends (10 s).
 */
export class ShardLeases implements Part {
  readonly name: string;
  readonly owner = randomUUID();
  private readonly options: ShardLeasesOptions;
  private readonly held = new Map<number, HeldLease>();
  private readonly releases = new Set<Promise<void>>();
  /** Shards of which this instance has not let go yet, whoever they belong to by now. */
  private readonly lettingGo = new Set<number>();
  private readonly loop: PollLoop;

  constructor(options: ShardLeasesOptions) {
    this.options = options;
    this.name = `${options.name}-leases`;
    this.loop = new PollLoop({
      name: this.name,
      intervalMs: TICK_MS,
      log: options.log,
      turn: () => this.tick(),
    });
  }

  start(): void {
    this.loop.start();
  }

  async stop(): Promise<void> {
    await this.loop.stop();
    this.release([...this.held.values()].filter(({ releasing }) => !releasing));
    await Promise.all(this.releases);
    const { sql, name } = this.options;
    await sql.$executeRawUnsafe(`delete from ${name}_member where owner = $1::uuid`, this.owner);
  }

  /** Whether this instance may act for the shard at this moment. */
  holds(shard: number): boolean {
    const lease = this.held.get(shard);
    return lease !== undefined && performance.now() < lease.deadline;
  }

  /** The epoch of a held shard, or undefined. */
  epochOf(shard: number): bigint | undefined {
    return this.holds(shard) ? this.held.get(shard)?.epoch : undefined;
  }

  /**
   * The epoch of a shard that was acquired and, as far as is known, not lost, and is not on its way to another instance. It
   * may be late in being renewed, so that for the moment nothing may be done for it.
   */
  acquiredEpochOf(shard: number): bigint | undefined {
    const lease = this.held.get(shard);
    return lease?.releasing === false ? lease.epoch : undefined;
  }

  /** The shards to take up work for: held, and not on their way to another instance. */
  heldShards(): number[] {
    return [...this.held.values()]
      .filter(({ shard, releasing }) => !releasing && this.holds(shard))
      .map(({ shard }) => shard);
  }

  private async tick(): Promise<boolean> {
    const askedAt = performance.now();
    const members = await this.announce();
    await this.renew(askedAt);
    const share = Math.ceil(this.options.shards / members);
    const kept = [...this.held.values()].filter(({ releasing }) => !releasing);
    if (kept.length > share) this.release(kept.slice(share));
    if (this.held.size < share) await this.acquire(share - this.held.size);
    return false;
  }

  private async acquire(count: number): Promise<void> {
    const { sql, name, shards, log } = this.options;
    const askedAt = performance.now();
    const rows = await sql.$queryRawUnsafe<{ shard: number; epoch: bigint }[]>(
      `update ${name}_lease l
       set owner = $1::uuid, epoch = l.epoch + 1, until = clock_timestamp() + $2::int * interval '1 millisecond'
       from (
         select shard from ${name}_lease
         where (until is null or until < clock_timestamp()) and shard <> all ($4::int[])
         order by shard limit $3::int for update skip locked
       ) free
       where l.shard = free.shard
       returning l.shard, l.epoch`,
      this.owner,
      LEASE_MS,
      count,
      [...this.lettingGo],
    );
    const deadline = askedAt + LEASE_MS - MARGIN_MS;
    for (const { shard, epoch } of rows) {
      this.held.set(shard, { shard, epoch, deadline, releasing: false });
      this.options.onAcquired?.({ shard, epoch });
    }
    if (rows.length > 0) log.info({ lease: name, shards: this.held.size, of: shards }, 'leases.acquired');
  }

  private async announce(): Promise<number> {
    const { sql, name } = this.options;
    const [row] = await sql.$queryRawUnsafe<{ members: number }[]>(
      `with me as (
         insert into ${name}_member (owner, until)
         values ($1::uuid, clock_timestamp() + $2::int * interval '1 millisecond')
         on conflict (owner) do update set until = excluded.until
       ), gone as (
         delete from ${name}_member where until < clock_timestamp() - interval '1 minute' and owner <> $1::uuid
       )
       select count(*)::int + 1 as members from ${name}_member where until > clock_timestamp() and owner <> $1::uuid`,
      this.owner,
      LEASE_MS,
    );
    return row?.members ?? 1;
  }

  /** Of what is held alone: a lease that this instance has and does not know of, for an answer was lost, comes to its end. */
  private async renew(askedAt: number): Promise<void> {
    const { sql, name, log } = this.options;
    const held = [...this.held.values()];
    if (held.length === 0) return;
    const rows = await sql.$queryRawUnsafe<{ shard: number }[]>(
      `update ${name}_lease l set until = clock_timestamp() + $2::int * interval '1 millisecond'
       from unnest($3::int[], $4::bigint[]) as held (shard, epoch)
       where l.owner = $1::uuid and l.shard = held.shard and l.epoch = held.epoch and l.until > clock_timestamp()
       returning l.shard`,
      this.owner,
      LEASE_MS,
      held.map(({ shard }) => shard),
      held.map(({ epoch }) => epoch),
    );
    const renewed = new Set(rows.map(({ shard }) => shard));
    for (const lease of held) {
      if (this.held.get(lease.shard) !== lease) continue; // given back meanwhile
      if (renewed.has(lease.shard)) {
        lease.deadline = askedAt + LEASE_MS - MARGIN_MS;
      } else {
        this.held.delete(lease.shard);
        log.warn({ lease: name, shard: lease.shard }, 'lease.lost');
        void this.letGo(lease);
      }
    }
  }

  /** Each goes as soon as it is let go of, beside the renewals, which it needs for as long as its work is being ended. */
  private release(leases: HeldLease[]): void {
    for (const lease of leases) {
      lease.releasing = true;
      const release = this.giveBack(lease).catch((error: unknown) => {
        this.options.log.warn({ lease: this.options.name, err: error }, 'lease.release_failed');
      });
      this.releases.add(release);
      void release.finally(() => this.releases.delete(release));
    }
    if (leases.length > 0)
      this.options.log.info({ lease: this.options.name, shards: leases.length }, 'leases.releasing');
  }

  private async giveBack(lease: HeldLease): Promise<void> {
    const { sql, name } = this.options;
    const { shard, epoch } = lease;
    await this.letGo(lease);
    if (this.held.get(shard) === lease) this.held.delete(shard);
    await sql.$executeRawUnsafe(
      `update ${name}_lease set owner = null, until = null
       where owner = $1::uuid and shard = $2::int and epoch = $3::bigint`,
      this.owner,
      shard,
      epoch,
    );
  }

  private async letGo({ shard, epoch }: HeldLease): Promise<void> {
    this.lettingGo.add(shard);
    try {
      await this.options.onReleasing?.({ shard, epoch });
    } catch (error) {
      this.options.log.error({ lease: this.options.name, shard, err: error }, 'lease.letting_go_failed');
    } finally {
      this.lettingGo.delete(shard);
    }
  }
}
