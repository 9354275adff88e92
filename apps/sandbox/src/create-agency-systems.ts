import {
  connectKafka,
  RecordPublisher,
  type Dependency,
  type Logger,
  type Metrics,
  type Part,
  type Route,
} from '@assistance/service-kit';
import { caseRoutes } from './case-management/case-routes.ts';
import { createCaseManagement } from './case-management/create-case-management.ts';
import type { SandboxConfig } from './config.ts';
import { inboxRoutes } from './inbox/inbox-routes.ts';
import type { Inboxes } from './inbox/inboxes.ts';
import { processRoutes } from './processes/process-routes.ts';
import type { SandboxState } from './state/open-state.ts';
import { eventRoutes } from './synthetic-events/event-routes.ts';

export interface AgencySystems {
  inboxes: Inboxes;
  routes: Route[];
  parts: Part[];
  dependencies: Dependency[];
}

/** What an agency has around the platform, simulated, with the controls that make it do things. */
export function createAgencySystems(options: {
  config: SandboxConfig;
  state: SandboxState;
  log: Logger;
  metrics: Metrics;
}): AgencySystems {
  const { config, state, log, metrics } = options;
  const { inboxes, ledger } = state;
  const topicPrefix = config.KAFKA_TOPIC_PREFIX;
  const kafka = connectKafka({ brokers: config.KAFKA_BROKERS, clientId: 'sandbox', log });
  const publisher = new RecordPublisher({ kafka, topicPrefix, log });
  const caseManagement = createCaseManagement({ ledger, publisher, kafka, topicPrefix, metrics, log });
  // Loopback by address: deliveries need no name looked up, and the sandbox's rules for callbacks let it pass.
  const callbackBase = `http://127.0.0.1:${config.HTTP_PORT}/inbox`;
  return {
    inboxes,
    routes: [
      ...caseRoutes(caseManagement),
      ...eventRoutes({ publisher }),
      ...inboxRoutes({ inboxes, callbackBase }),
      ...processRoutes({ supervisorUrl: config.SUPERVISOR_URL }),
    ],
    parts: [publisher, ...caseManagement.parts],
    dependencies: [publisher, caseManagement.consumer],
  };
}
