import { topics, type Topic } from '@assistance/types';

/** Event types that only a bench knows. */
export const moreTypes = Array.from({ length: 50 }, (_, index) => `bench.type-${index}`);

export const topicOfMore = (type: string): Topic => ({
  ...topics.documentAvailable,
  name: `assistance.events.${type}.v1`,
  types: [type],
});
