import { PrismaPg } from '@prisma/adapter-pg';
import { ColumnTypeEnum, type SqlQuery, type SqlResultSet } from '@prisma/driver-adapter-utils';
import { Pool } from 'pg';

const charOid = 18;
const charArrayOid = 1002;

type Adapter = Awaited<ReturnType<PrismaPg['connect']>>;
type PerformIo = (query: SqlQuery) => Promise<{ fields: { dataTypeID: number }[] }>;

/** The address in parts: given as one string, the shadow database would be the main one. */
function connectionParts(url: string) {
  const { hostname, port, username, password, pathname } = new URL(url);
  return {
    host: hostname,
    port: Number(port),
    user: decodeURIComponent(username),
    password: decodeURIComponent(password),
    database: pathname.slice(1),
    allowExitOnIdle: true, // the engine does not say when it is done with the main database
  };
}

/** Prisma's adapter for pg, with what its schema engine needs of it and its version 7.10 does not do. */
export class MigrationAdapter extends PrismaPg {
  readonly #parts: ReturnType<typeof connectionParts>;

  constructor(url: string) {
    super(connectionParts(url));
    this.#parts = connectionParts(url);
  }

  override async connect() {
    return repaired(await super.connect());
  }

  /** The shadow database's connections end before it is dropped. */
  override async connectToShadowDb() {
    const main = await this.connect();
    const database = `shadow_${crypto.randomUUID()}`;
    await main.executeScript(`create database "${database}"`);
    const pool = new Pool({ ...this.#parts, database });
    const shadow = repaired(await new PrismaPg(pool).connect());
    shadow.dispose = async () => {
      await pool.end();
      await main.executeScript(`drop database "${database}" with (force)`);
      await main.dispose();
    };
    return shadow;
  }
}

function repaired(adapter: Adapter): Adapter {
  const { queryRaw, performIO } = adapter as unknown as {
    queryRaw: Adapter['queryRaw'];
    performIO: PerformIo;
  };
  Object.assign(adapter, {
    // Whole, not split at each semicolon: a function's body has some.
    executeScript: async (script: string) => {
      await adapter.underlyingDriver().query(script);
    },
    // The type "char" of the catalogue is not known to the adapter; its array is, and stands in for it.
    performIO: async (query: SqlQuery) => {
      const result = await performIO.call(adapter, query);
      for (const field of result.fields) if (field.dataTypeID === charOid) field.dataTypeID = charArrayOid;
      return result;
    },
    queryRaw: async (query: SqlQuery): Promise<SqlResultSet> => {
      const result = await queryRaw.call(adapter, query);
      const { Character, CharacterArray } = ColumnTypeEnum;
      const columnTypes = result.columnTypes.map((type) => (type === CharacterArray ? Character : type));
      return { ...result, columnTypes };
    },
  });
  return adapter;
}
