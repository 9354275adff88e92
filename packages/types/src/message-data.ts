import type { z } from 'zod';
import { caseMessages, intakeData, intakeType } from './case-management.ts';
import { eventTypeNames, eventTypes } from './event.ts';
import {
  subscriptionCommands,
  subscriptionRecord,
  subscriptionRecordType,
  subscriptionReports,
} from './subscription-record.ts';

/** The `data` of every message type that a topic carries, by its CloudEvents type. */
export const messageData: Record<string, z.ZodType> = {
  [intakeType]: intakeData,
  ...caseMessages,
  ...Object.fromEntries(eventTypeNames.map((type) => [type, eventTypes[type].data])),
  [subscriptionRecordType]: subscriptionRecord,
  ...subscriptionCommands,
  ...subscriptionReports,
};
