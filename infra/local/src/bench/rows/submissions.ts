import type { BareExpressOptions } from '../load/bare-express.ts';
import { forkLoad } from '../load/fork-load.ts';
import type { SubmitManyOptions } from '../load/submit-many.ts';
import { median } from '../median.ts';
import type { Row } from '../row.ts';
import type { Bench } from '../stack/bench.ts';
import { freshDatabase } from '../stack/fresh-database.ts';
import { freshTopics } from '../stack/fresh-topics.ts';
import { applicationsPath, startApplications, tokenOf } from '../stack/start-applications.ts';

const count = 6_000;
const connections = 32;
const quietPerSecond = 1_900;

export const submissions: Row = {
  name: 'submissions',
  about: 'submissions a second ÷ an Express handler with one insert',
  run: async (bench) => {
    const measured = [];
    const { runs } = bench;
    for (let run = 1; run <= runs; run += 1) {
      const [bare, submitted] = [await bareInserts(bench), await submit(bench)];
      measured.push({ bare, submitted, ratio: submitted / bare });
      bench.say(`  ${run} of ${runs}: ${Math.round(submitted)}/s of ${Math.round(bare)}/s`);
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
        remarks: [`all: ${measured.map((run) => run.ratio.toFixed(2)).join(' ')}`],
      },
    ];
  },
};

async function bareInserts(bench: Bench): Promise<number> {
  const options: BareExpressOptions = { databaseUrl: await freshDatabase(bench.stack, 'applications') };
  const server = forkLoad(bench.stack.ledger, 'bare-express.ts', options);
  try {
    const url = `http://127.0.0.1:${await server.heard<number>('port')}`;
    return await perSecondTo(bench, url, '/');
  } finally {
    await server.close();
  }
}

async function submit(bench: Bench): Promise<number> {
  const databaseUrl = await freshDatabase(bench.stack, 'applications');
  const service = await startApplications(bench, {
    databaseUrl,
    topicPrefix: await freshTopics(bench.stack),
  });
  try {
    return await perSecondTo(bench, service.url, applicationsPath);
  } finally {
    await service.stop();
  }
}

async function perSecondTo(bench: Bench, url: string, path: string): Promise<number> {
  bench.signal.throwIfAborted();
  const options: SubmitManyOptions = { url, path, token: tokenOf(bench), count, connections };
  const load = forkLoad(bench.stack.ledger, 'submit-many.ts', options);
  const perSecond = await load.heard<number>('perSecond');
  await load.close();
  return perSecond;
}
