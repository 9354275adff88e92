// Writes docs/asyncapi: what each party sends and receives. `npm run check` fails when it is not as this writes it.
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { topics, type Topic } from '@assistance/types';
import { asyncApiOf } from './async-api-of.ts';

const folder = join(import.meta.dirname, '../../../docs/asyncapi');
const parties = new Set(
  Object.values<Topic>(topics).flatMap(({ producer, consumers }) => [producer, ...consumers]),
);
rmSync(folder, { recursive: true, force: true });
mkdirSync(folder);
for (const party of parties) {
  writeFileSync(join(folder, `${party}.json`), `${JSON.stringify(asyncApiOf(party, topics), null, 2)}\n`);
}
