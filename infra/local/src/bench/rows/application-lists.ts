import type { Client } from 'pg';
import type { Row } from '../row.ts';
import { freshDatabase, withDatabase } from '../stack/fresh-database.ts';
import { freshTopics } from '../stack/fresh-topics.ts';
import { measureMachine } from '../stack/measure-bare-loop.ts';
import { pageCosts, walkPages } from '../stack/page-cost.ts';
import { applicationsPath, startApplications, tokenOf } from '../stack/start-applications.ts';

const few = 10_000;
const many = 2_000_000;
const deep = 9_999;

export const applicationLists: Row = {
  name: 'application-lists',
  about: 'a page of the list of applications: the ten-thousandth ÷ the first, and of 2 million ÷ of 10,000',
  run: async (bench) => {
    const limit = await measureMachine(bench);
    const topicPrefix = await freshTopics(bench.stack);
    const start = async (rows: number) => {
      const databaseUrl = await freshDatabase(bench.stack, 'applications');
      await withDatabase(databaseUrl, (client) => seedApplications(client, rows));
      return startApplications(bench, { databaseUrl, topicPrefix });
    };
    const [small, large] = [await start(few), await start(many)];
    try {
      const listOf = ({ url }: { url: string }) => ({
        url: `${url}${applicationsPath}?limit=20`,
        token: tokenOf(bench),
      });
      const cursor = await walkPages(listOf(large), deep, bench.signal);
      const [ofSmall, first, last] = await pageCosts([
        { ...listOf(small), cursor: null },
        { ...listOf(large), cursor: null },
        { ...listOf(large), cursor },
      ]);
      return [
        {
          what: 'list of applications, page 10,000',
          ...{ value: last!, unit: 'ms', limit, ratio: last! / first! },
          ...{ of: `page 1, ${first!.toFixed(2)} ms`, goal: { atMost: 1.1 } },
        },
        {
          what: 'list of applications, of 2 million',
          ...{ value: first!, unit: 'ms', limit, ratio: first! / ofSmall! },
          ...{ of: `10,000, ${ofSmall!.toFixed(2)} ms`, goal: { atMost: 1.2 } },
        },
      ];
    } finally {
      await Promise.all([small.stop(), large.stop()]);
    }
  },
};

/** Applications in all final statuses, of many clients and programs, as the years leave them. */
async function seedApplications(client: Client, rows: number): Promise<void> {
  await client.query(
    `insert into application (application_id, owner, idempotency_key, fingerprint, fingerprint_key_id, program_code,
       program_version, program_digest, channel, applicant_ref, submitted_at, status, version, case_id)
     select 'app_' || lpad(n::text, 26, '0'), 'bench#client-' || n % 20, n::text, '\\x00', 'i1', 'PROGRAM-' || n % 7,
       1, 'digest', 'web', 'applicant-' || n, now() - make_interval(secs => $1::int - n),
       (array['ineligible', 'awarded', 'withdrawn', 'eligible'])[1 + n % 4], 3, 'case-' || n
     from generate_series(1, $1::int) n`,
    [rows],
  );
  await client.query('vacuum analyze application');
}
