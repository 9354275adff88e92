import { setTimeout as sleep } from 'node:timers/promises';
import { services } from '../../platform/services.ts';
import type { Figure, Row } from '../row.ts';
import { freshDatabase } from '../stack/fresh-database.ts';
import { freshTopics } from '../stack/fresh-topics.ts';
import { measureMachine } from '../stack/measure-bare-loop.ts';
import { processorSeconds, residentMegabytes } from '../stack/processor-time.ts';
import { startService, type StartedService } from '../stack/start-service.ts';

const settleSeconds = 15;
const seconds = 30;

export const idle: Row = {
  name: 'idle',
  about: 'processor and memory of each service while nothing happens',
  run: async (bench) => {
    const limit = await measureMachine(bench);
    const topicPrefix = await freshTopics(bench.stack);
    const started: StartedService[] = [];
    try {
      for (const service of services) {
        const databaseUrl = await freshDatabase(bench.stack, service);
        started.push(await startService(bench, service, { databaseUrl, topicPrefix }));
      }
      await sleep(settleSeconds * 1000);
      const before = started.map(({ pid }) => processorSeconds(pid));
      await sleep(seconds * 1000);
      return started.flatMap(({ pid }, index): Figure[] => {
        const used = processorSeconds(pid) - before[index]!;
        const what = `${services[index]} idle`;
        return [
          {
            what: `${what}, processor`,
            value: (used / seconds) * 100,
            unit: '%',
            limit,
            goal: { atMost: 2 },
          },
          {
            what: `${what}, memory`,
            value: residentMegabytes(pid),
            unit: 'MB',
            limit,
            goal: { atMost: 150 },
          },
        ];
      });
    } finally {
      await Promise.all(started.map((service) => service.stop()));
    }
  },
};
