// What `npm run submission-kills` runs: KILLS SIGKILLs in rounds, each round a database of its own with one instance or two
// under load, and a line of RESULTS for each round that held. A run that was broken off goes on after the rounds that its
// SEED has there.
import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { createDatabaseAdapter } from '@assistance/service-kit';
import { waitUntil } from '@assistance/test-kit';
import { PrismaClient } from '../../src/generated/prisma/client.ts';
import { keptLines } from '../support/kept-lines.ts';
import { createSurroundings } from '../support/run-service.ts';
import { faultsOfRound } from './prove-round.ts';
import { submitUnderKills } from './submit-under-kills.ts';

const KILLS_A_ROUND = 20;
const LATEST_KILL_MS = 800;

interface RoundLine {
  at: string;
  seed: number;
  round: number;
  instances: number;
  kills: number;
  /** With requests in flight. */
  hits: number;
  keys: number;
  unanswered: number;
  /** Whose chain `verify-audit` found whole. */
  auditRows: number;
  seconds: number;
}

const { KILLS = '200', SEED = '1', RESULTS = '' } = process.env;
const [kills, seed] = [Number(KILLS), Number(SEED)];
const { lines, keep } = keptLines<RoundLine>(RESULTS);
const held = lines.filter((line) => line.seed === seed);
for (let done = 0, round = 0; done < kills; done += KILLS_A_ROUND, round++) {
  if (held.some((line) => line.round === round)) continue;
  const size = Math.min(KILLS_A_ROUND, kills - done);
  const line = await runRound(round, size);
  if (size === KILLS_A_ROUND) keep(line);
  held.push(line);
  console.log(
    `${done + size}/${kills} kills, ${line.instances} instances, ${line.hits} hits, ${line.keys} keys, ${line.auditRows} rows of the audit, ${line.seconds} s`,
  );
}
const sum = (of: 'kills' | 'hits' | 'keys' | 'unanswered'): number =>
  held.reduce((total, line) => total + line[of], 0);
console.log(
  `All of it holds: ${sum('kills')} kills, ${sum('hits')} of them with requests in flight; ${sum('keys')} keys and as ` +
    `many applications, decided and told, their audit whole; ${sum('unanswered')} requests sent again.`,
);

async function runRound(round: number, killsOfRound: number): Promise<RoundLine> {
  const startedAt = performance.now();
  const surroundings = await createSurroundings();
  const url = surroundings.database.url;
  const prisma = new PrismaClient({
    adapter: createDatabaseAdapter({ url, poolSize: 2, applicationName: 'proof' }),
  });
  try {
    const ways = await surroundings.createWays();
    // All callers are one client, whose limit is not what is tried here.
    ways.environment['RATE_LIMIT_PER_SECOND'] = '10000';
    const start = () => surroundings.start(ways);
    const instances = await Promise.all(Array.from({ length: 1 + (round % 2) }, start));
    const load = submitUnderKills(() => instances, surroundings.issuer);
    let hits = 0;
    for (let n = 0; n < killsOfRound; n++) {
      const victim = Math.floor(random(round, n, 'victim') * instances.length);
      const before = load.submitted.length;
      await waitUntil(() => load.submitted.length > before + 8, { timeoutMs: 60_000, intervalMs: 5 });
      await sleep(random(round, n, 'moment') * LATEST_KILL_MS);
      if (load.inFlight() > 0) hits++;
      await instances[victim]!.end('SIGKILL');
      instances[victim] = await start();
    }
    await load.finish();
    const { faults, auditRows } = await faultsOfRound(surroundings, prisma, load.submitted);
    if (faults.length > 0) throw new Error(`Round ${round} of seed ${seed}:\n${faults.join('\n')}`);
    return {
      at: new Date().toISOString(),
      ...{ seed, round, hits, instances: instances.length, kills: killsOfRound },
      ...{ keys: load.submitted.length, unanswered: load.unanswered(), auditRows },
      seconds: Math.round((performance.now() - startedAt) / 100) / 10,
    };
  } finally {
    await prisma.$disconnect();
    await surroundings.close();
  }
}

/** From 0 to 1, the same for the same seed and names. */
function random(...names: (string | number)[]): number {
  const digest = createHash('sha256')
    .update([seed, ...names].join(' '))
    .digest();
  return digest.readUInt32BE() / 2 ** 32;
}
