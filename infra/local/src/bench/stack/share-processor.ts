import { processorSeconds } from './processor-time.ts';
import type { Bench } from './bench.ts';

/** Notes what each process has used; the answer says in words what each used since, for one of `count`. */
export function shareProcessor(
  { stack: { pids } }: Bench,
  processes: Record<string, number>,
): (count: number) => string {
  const used = (): [string, number][] => [
    ...Object.entries(processes).map(([name, pid]): [string, number] => [name, processorSeconds(pid)]),
    ['Postgres', processorSeconds(pids.postgres, { family: true })],
    ...(pids.kafka === undefined ? [] : [['Kafka', processorSeconds(pids.kafka)] as [string, number]]),
  ];
  const before = new Map(used());
  return (count) => {
    const shares = used().map(
      ([name, seconds]) => `${name} ${Math.round(((seconds - before.get(name)!) / count) * 1e6)}`,
    );
    return `µs of processor each: ${shares.join(', ')}`;
  };
}
