import type { Row } from './row.ts';
import { applicationLists } from './rows/application-lists.ts';
import { besideBacklog } from './rows/backlog.ts';
import { deliveries } from './rows/deliveries.ts';
import { deliveriesBesideProducer } from './rows/deliveries-beside-producer.ts';
import { deliveryLog } from './rows/delivery-log.ts';
import { droppingADay } from './rows/dropping-a-day.ts';
import { fanOut } from './rows/fan-out.ts';
import { hangingSubscribers } from './rows/hanging-subscribers.ts';
import { idle } from './rows/idle.ts';
import { latency } from './rows/latency.ts';
import { replay } from './rows/replay.ts';
import { submissionLatency } from './rows/submission-latency.ts';
import { submissions } from './rows/submissions.ts';
import { twoDispatchers } from './rows/two-dispatchers.ts';

/** In the order in which they are run. */
export const rows: Row[] = [
  deliveries,
  deliveriesBesideProducer,
  fanOut,
  latency,
  submissionLatency,
  hangingSubscribers,
  besideBacklog,
  twoDispatchers,
  submissions,
  applicationLists,
  deliveryLog,
  droppingADay,
  replay,
  idle,
];
