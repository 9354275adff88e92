import { randomInt } from 'node:crypto';
import { Client, escapeIdentifier } from 'pg';

export interface SpaceRefusal {
  /** There is space again. */
  lift(): Promise<void>;
}

/** Until it is lifted, every insert into the table is refused as when the disk is full (SQLSTATE 53100). */
export async function refuseForSpace(databaseUrl: string, table: string): Promise<SpaceRefusal> {
  const name = escapeIdentifier(`refuse_${randomInt(1, 2 ** 31)}`);
  const run = async (...statements: string[]): Promise<void> => {
    const client = new Client({ connectionString: databaseUrl });
    await client.connect();
    for (const statement of statements) await client.query(statement);
    await client.end();
  };
  await run(
    `create function ${name}() returns trigger language plpgsql as $$ begin
       raise exception 'could not extend file "base/1/1": No space left on device' using errcode = '53100';
     end $$`,
    `create trigger ${name} before insert on ${escapeIdentifier(table)}
     for each statement execute function ${name}()`,
  );
  return { lift: () => run(`drop function ${name}() cascade`) };
}
