import type { BareExpressOptions } from '../load/bare-express.ts';
import { forkLoad } from '../load/fork-load.ts';
import type { SubmitManyOptions } from '../load/submit-many.ts';
import { median } from '../median.ts';
import type { Row } from '../row.ts';
import type { Bench } from '../stack/bench.ts';
import { freshDatabase } from '../stack/fresh-database.ts';
import { freshTopics } from '../stack/fresh-topics.ts';
import { shareProcessor } from '../stack/share-processor.ts';
import { applicationsPath, startApplications, tokenOf } from '../stack/start-applications.ts';

const count = 6_000;
const connections = 32;
const quietPerSecond = 1_900;

interface Submitted {
  perSecond: number;
  remark: string;
}

export const submissions: Row = {
  name: 'submissions',
  about: 'submissions a second ÷ an Express handler with one insert',
  run: async (bench) => {
    const measured = [];
    const { runs } = bench;
    for (let run = 1; run <= runs; run += 1) {
      const [bare, submitted] = [await bareInserts(bench), await submit(bench)];
      const ratio = submitted.perSecond / bare.perSecond;
      const remark = `${submitted.remark}; bare ${bare.remark}`;
      measured.push({ bare: bare.perSecond, submitted: submitted.perSecond, ratio, remark });
      bench.say(
        `  ${run} of ${runs}: ${Math.round(submitted.perSecond)}/s of ${Math.round(bare.perSecond)}/s; ${remark}`,
      );
    }
    const ratio = median(measured.map((run) => run.ratio));
    const middle = measured.find((run) => run.ratio === ratio)!;
    return [
      {
        what: 'submissions',
        value: middle.submitted,
        unit: '/s',
        limit: { what: 'bare Express with one insert', perSecond: middle.bare, quietPerSecond },
        ratio,
        goal: { atLeast: 0.5 },
        remarks: [`all: ${measured.map((run) => run.ratio.toFixed(2)).join(' ')}`, middle.remark],
      },
    ];
  },
};

async function bareInserts(bench: Bench): Promise<Submitted> {
  const options: BareExpressOptions = { databaseUrl: await freshDatabase(bench.stack, 'applications') };
  const server = forkLoad(bench.stack.ledger, 'bare-express.ts', options);
  try {
    const url = `http://127.0.0.1:${await server.heard<number>('port')}`;
    return await submitTo(bench, { url, path: '/', pid: server.pid });
  } finally {
    await server.close();
  }
}

async function submit(bench: Bench): Promise<Submitted> {
  const databaseUrl = await freshDatabase(bench.stack, 'applications');
  const service = await startApplications(bench, {
    databaseUrl,
    topicPrefix: await freshTopics(bench.stack),
  });
  try {
    return await submitTo(bench, { url: service.url, path: applicationsPath, pid: service.pid });
  } finally {
    await service.stop();
  }
}

async function submitTo(
  bench: Bench,
  { url, path, pid }: { url: string; path: string; pid: number },
): Promise<Submitted> {
  bench.signal.throwIfAborted();
  const options: SubmitManyOptions = { url, path, token: tokenOf(bench), count, connections };
  const load = forkLoad(bench.stack.ledger, 'submit-many.ts', options);
  const shareOf = shareProcessor(bench, { service: pid, load: load.pid });
  const perSecond = await load.heard<number>('perSecond');
  const remark = shareOf(count);
  await load.close();
  return { perSecond, remark };
}
