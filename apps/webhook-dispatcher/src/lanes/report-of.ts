import { topics, type SubscriptionReportData } from '@assistance/types';
import { cloudEventOf, newId, structuredRecord, type OutgoingRecord } from '@assistance/service-kit';

/** What the subscriptions service is told of a subscription. `now` in ms. */
export function reportOf<T extends 'subscription.status_judged' | 'subscription.replay_progressed'>(
  type: T,
  data: SubscriptionReportData<T>,
  now: number,
): OutgoingRecord {
  const report = cloudEventOf({
    id: newId('evt'),
    source: '/webhook-dispatcher',
    type,
    subject: data.subscriptionId,
    time: new Date(now),
    data,
  });
  return structuredRecord(topics.report.name, report);
}
