import { eventTypes, type EventType } from './event.ts';

/** A party that holds credentials for Kafka; ACLs are made for each. */
export type Party =
  | 'applications'
  | 'subscriptions'
  | 'webhook-dispatcher'
  | 'case-management'
  | 'documents-system'
  | 'records-system';

export interface Topic {
  name: string;
  /** For whoever reads or writes it. */
  description: string;
  /** What the record key is: the unit of order. */
  key: string;
  /** CloudEvents binding: structured for events, binary where a null value must be a tombstone. */
  mode: 'structured' | 'binary';
  /** The CloudEvents types it carries. */
  types: readonly string[];
  producer: Party;
  consumers: readonly Party[];
  policy: 'delete' | 'compact';
  /** How long records, or tombstones of a compacted topic, are kept. */
  retentionDays: number;
  /** How large a record may be, where the megabyte that Kafka takes by default is too little. */
  maxRecordBytes?: number;
}

const event = (name: string, key: string, type: EventType, producer: Party): Topic => ({
  name: `assistance.events.${name}.v1`,
  description: eventTypes[type].description,
  key,
  mode: 'structured',
  types: [type],
  producer,
  consumers: ['webhook-dispatcher'],
  policy: 'delete',
  retentionDays: 7,
});

const deadLetters = (service: 'applications' | 'subscriptions' | 'webhook-dispatcher'): Topic => ({
  name: `assistance.${service}.dlq`,
  description: `Records that ${service} could not take, as they came, with where they lay and why in their headers.`,
  key: 'as the original',
  mode: 'binary',
  types: ['dead_letter'],
  producer: service,
  consumers: [service],
  policy: 'delete',
  retentionDays: 30,
  // A dead letter is its record and what was wrong with it.
  maxRecordBytes: 2 * 1_048_588,
});

/** Every topic there is (design 2). Provisioning, ACLs and the AsyncAPI document are made from this table. */
export const topics = {
  intake: {
    name: 'assistance.case-management.intake.v1',
    description:
      'What case management is to do: open a case, decide in place of the rules, or close what is open.',
    key: 'applicationId',
    mode: 'structured',
    types: ['case_management.intake'],
    producer: 'applications',
    consumers: ['case-management'],
    policy: 'delete',
    retentionDays: 7,
  },
  cases: {
    name: 'assistance.case-management.cases.v1',
    description: 'What case management did: cases opened, and decisions.',
    key: 'applicationId',
    mode: 'structured',
    types: ['case.opened', 'case.determined', 'review.determined'],
    producer: 'case-management',
    consumers: ['applications'],
    policy: 'delete',
    retentionDays: 7,
  },
  applicationDecided: event('application-decided', 'applicationId', 'application.decided', 'applications'),
  caseStatusChanged: event('case-status-changed', 'caseId', 'case.status_changed', 'case-management'),
  documentAvailable: event('document-available', 'documentId', 'document.available', 'documents-system'),
  requestReleased: event('request-released', 'requestId', 'request.released', 'records-system'),
  subscription: {
    name: 'assistance.subscriptions.subscription.v1',
    description:
      'The whole state of each subscription, the newest of a key; a null value means that nothing is left of it.',
    key: 'subscriptionId',
    mode: 'binary',
    types: ['subscription.recorded'],
    producer: 'subscriptions',
    consumers: ['webhook-dispatcher'],
    policy: 'compact',
    retentionDays: 8,
  },
  command: {
    name: 'assistance.subscriptions.command.v1',
    description: 'What the owner of a subscription asks of the dispatcher.',
    key: 'subscriptionId',
    mode: 'structured',
    types: ['subscription.replay_requested', 'subscription.replay_cancelled', 'subscription.test_requested'],
    producer: 'subscriptions',
    consumers: ['webhook-dispatcher'],
    policy: 'delete',
    retentionDays: 7,
  },
  report: {
    name: 'assistance.webhooks.subscription-report.v1',
    description: 'What the dispatcher judged of a subscription, and how far a replay is.',
    key: 'subscriptionId',
    mode: 'structured',
    types: ['subscription.status_judged', 'subscription.replay_progressed'],
    producer: 'webhook-dispatcher',
    consumers: ['subscriptions'],
    policy: 'delete',
    retentionDays: 7,
  },
  applicationsDeadLetters: deadLetters('applications'),
  subscriptionsDeadLetters: deadLetters('subscriptions'),
  dispatcherDeadLetters: deadLetters('webhook-dispatcher'),
} as const satisfies Record<string, Topic>;

/** The topic that carries an event type of the catalogue. */
export const topicOfEvent: Record<EventType, Topic> = Object.fromEntries(
  (Object.keys(eventTypes) as EventType[]).map((type) => [
    type,
    Object.values<Topic>(topics).find((topic) => topic.types.includes(type)),
  ]),
) as Record<EventType, Topic>;
