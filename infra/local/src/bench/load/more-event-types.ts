// Loaded into a dispatcher before its main module (node --import): adds event types to the catalogue and to the topics, as
// an agency does that adds event types, so that fifty subscriptions can each have events of their own.
import { eventTypes, topicOfEvent, type Topic } from '@assistance/types';
import { moreTypes, topicOfMore } from './more-types.ts';

const catalogue = eventTypes as Record<string, unknown>;
const topics = topicOfEvent as Record<string, Topic>;
for (const type of moreTypes) {
  catalogue[type] = eventTypes['document.available'];
  topics[type] = topicOfMore(type);
}
