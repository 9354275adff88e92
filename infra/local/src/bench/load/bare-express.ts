// The limit of submissions: an Express handler with one insert, and nothing else, in a process of its own.
import type { AddressInfo } from 'node:net';
import express from 'express';
import pg from 'pg';

export interface BareExpressOptions {
  databaseUrl: string;
}

const { databaseUrl } = JSON.parse(process.argv[2] ?? '') as BareExpressOptions;
process.on('disconnect', () => process.exit(0));
process.on('SIGINT', () => {});

const pool = new pg.Pool({ connectionString: databaseUrl, max: 8 });
await pool.query(
  'create table bare (id bigint generated always as identity primary key, body jsonb not null)',
);
const app = express();
app.use(express.json());
app.post('/', async (request, response) => {
  const { rows } = await pool.query<{ id: string }>('insert into bare (body) values ($1) returning id', [
    request.body,
  ]);
  response.status(201).json({ id: rows[0]?.id });
});
const server = app.listen(0, '127.0.0.1', () =>
  process.send?.({ port: (server.address() as AddressInfo).port }),
);
