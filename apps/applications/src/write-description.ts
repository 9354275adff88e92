// Writes docs/openapi/applications.json; `npm run check` fails when it is not as this writes it.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { descriptionOf } from '@assistance/service-kit';
import type { AppDeps } from './app.ts';
import { description } from './operations.ts';
import { routes } from './routes.ts';

// To describe a route is not to run it.
const described = routes({} as AppDeps);
const file = join(import.meta.dirname, '../../../docs/openapi/applications.json');
writeFileSync(file, `${JSON.stringify(descriptionOf(description, described), null, 2)}\n`);
