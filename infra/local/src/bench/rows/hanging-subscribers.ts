import type { Row } from '../row.ts';
import type { Bench } from '../stack/bench.ts';
import { compareHealthy } from '../stack/compare-healthy.ts';
import { dispatching } from '../stack/dispatching.ts';
import { steadyDeliveries } from '../stack/steady-deliveries.ts';

const type = 'document.available';
const healthy = 8;
const others = 2;

export const hangingSubscribers: Row = {
  name: 'hanging-subscribers',
  about: 'p99 of healthy subscribers while 20 % of all never answer',
  run: async (bench) => [
    await compareHealthy(bench, 'event → healthy received, 20 % of subscribers hanging, p99', {
      without: () => healthyTimes(bench, '/other/now'),
      beside: () => healthyTimes(bench, '/other/never'),
    }),
  ],
};

function healthyTimes(bench: Bench, pathOfOthers: string): Promise<number[]> {
  const subscribed = (count: number, path: string) =>
    Array.from({ length: count }, () => ({ types: [type], path }));
  const subscriptions = [...subscribed(healthy, '/healthy/now'), ...subscribed(others, pathOfOthers)];
  return dispatching(bench, { subscriptions }, ({ receiver, topicPrefix }) =>
    steadyDeliveries(bench, {
      ...{ receiver, topicPrefix, type, perSecond: 50, seconds: 15 },
      ...{ group: 'healthy', subscriptions: healthy },
    }),
  );
}
