// Writes docs/openapi/events.json; `npm run check` fails when it is not as this writes it.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { descriptionOf } from '@assistance/service-kit';
import type { Dependencies } from './dependencies.ts';
import { description } from './operations.ts';
import { routes } from './routes.ts';

// To describe a route is not to run it.
const described = routes({} as Dependencies);
const file = join(import.meta.dirname, '../../../docs/openapi/events.json');
writeFileSync(file, `${JSON.stringify(descriptionOf(description, described), null, 2)}\n`);
