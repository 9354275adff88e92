import type { Row } from './row.ts';
import { deliveries } from './rows/deliveries.ts';

/** In the order in which they are run. */
export const rows: Row[] = [deliveries];
