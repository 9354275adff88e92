// Writes docs/openapi/deliveries.json; `npm run check` fails when it is not as this writes it.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { descriptionOf } from '@assistance/service-kit';
import { description } from './operations.ts';
import { routes, type RouteDependencies } from './routes.ts';

// To describe a route is not to run it.
const described = routes({} as RouteDependencies);
const file = join(import.meta.dirname, '../../../docs/openapi/deliveries.json');
writeFileSync(file, `${JSON.stringify(descriptionOf(description, described), null, 2)}\n`);
