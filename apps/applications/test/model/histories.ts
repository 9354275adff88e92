import fc from 'fast-check';
import { caseMessage, unknownApplication } from './case-steps.ts';
import { claiming, deciding, timePassing } from './deciding-steps.ts';
import { listing, reading } from './reading-steps.ts';
import { illShaped, submission, withdrawal } from './request-steps.ts';

/** Histories of up to so many steps, of any mix. */
export const histories = (maxCommands: number) =>
  fc.commands(
    [
      ...[submission, submission, deciding, deciding, withdrawal],
      ...[caseMessage, caseMessage, caseMessage, caseMessage, caseMessage],
      ...[illShaped, claiming, timePassing, unknownApplication, reading, listing],
    ],
    { maxCommands, size: 'max' },
  );
