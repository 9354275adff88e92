import { PollLoop, ShardLeases, type Logger, type Part, type Sql } from '@assistance/service-kit';
import type { AuditMetrics } from './audit-metrics.ts';
import { auditColumns, FIRST_SEAL, sealOf, type AuditRow } from './seal-of.ts';
import { seeAudit, settledId, type AuditEnd, type SeenAudit } from './settled-audit.ts';

const INTERVAL_MS = 500;
const ROWS_PER_TURN = 1_000;
/** There is one chain, so one shard. */
const SHARD = 0;

export interface AuditSealerOptions {
  sql: Sql;
  metrics: AuditMetrics;
  log: Logger;
}

/**
 * Chains the committed rows of the audit by digests, in the order of their ids, a moment after they were written: in the
 * transactions themselves a chain would put all writers in one line. One instance at a time seals. It keeps nothing that
 * it could not read again, each batch is one statement that a lost lease makes void, and a row has one seal: after a
 * crash, beside a second sealer or on a restored database it goes on from the last seal that is there.
 *
 * The last seal of each batch is logged: kept elsewhere, it shows a chain that was cut or made anew.
 */
export class AuditSealer implements Part {
  readonly name = 'audit-sealer';
  private readonly options: AuditSealerOptions;
  private readonly leases: ShardLeases;
  private readonly loop: PollLoop;
  private earlier: AuditEnd | undefined;
  private settledId = 0n;

  constructor(options: AuditSealerOptions) {
    this.options = options;
    const { sql, log } = options;
    this.loop = new PollLoop({ name: this.name, intervalMs: INTERVAL_MS, log, turn: () => this.turn() });
    this.leases = new ShardLeases({
      ...{ sql, name: 'audit_seal', shards: 1, log },
      onAcquired: () => this.loop.wake(),
    });
  }

  start(): void {
    this.leases.start();
    this.loop.start();
  }

  async stop(): Promise<void> {
    await this.loop.stop();
    await this.leases.stop();
  }

  private async turn(): Promise<boolean> {
    const { sql, metrics } = this.options;
    const seen = await seeAudit(sql);
    metrics.unsealedSeconds.set(seen.unsealedSeconds);
    const settled = settledId(this.earlier, seen);
    if (settled !== undefined) this.settledId = settled;
    if (settled !== undefined || this.earlier === undefined) this.earlier = seen;
    const epoch = this.leases.epochOf(SHARD);
    return epoch !== undefined && (await this.seal(seen, epoch)) === ROWS_PER_TURN;
  }

  /** How many rows were sealed. */
  private async seal({ sealedId, seal }: SeenAudit, epoch: bigint): Promise<number> {
    const { sql, metrics, log } = this.options;
    const rows = await sql.$queryRawUnsafe<AuditRow[]>(readRows, sealedId, this.settledId, ROWS_PER_TURN);
    let last = seal ?? FIRST_SEAL;
    const seals = rows.map((row) => (last = sealOf(last, row)));
    const ids = rows.map(({ id }) => String(id));
    if (rows.length === 0) return 0;
    const hex = seals.map((each) => each.toString('hex'));
    const sealed = await sql.$executeRawUnsafe(insertSeals, ids, hex, SHARD, this.leases.owner, epoch);
    if (sealed === 0) return 0;
    metrics.sealed.inc(sealed);
    log.info({ rows: sealed, lastId: ids.at(-1), seal: hex.at(-1) }, 'audit.sealed');
    return sealed;
  }
}

const readRows = `
select audit.id, ${auditColumns} from audit where id > $1::bigint and id <= $2::bigint order by id limit $3::int`;

const insertSeals = `
with lease as (
  select from audit_seal_lease
  where shard = $3::int and owner = $4::uuid and epoch = $5::bigint and until > clock_timestamp()
  for share
)
insert into audit_seal (audit_id, seal)
select fresh.id, decode(fresh.seal, 'hex') from unnest($1::bigint[], $2::text[]) as fresh (id, seal), lease`;
