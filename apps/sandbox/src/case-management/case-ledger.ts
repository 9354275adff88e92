import { join } from 'node:path';
import { z } from 'zod';
import { Journal } from '../state/journal.ts';
import { CaseRegister } from './case-register.ts';
import { caseFile, caseStep, type CaseStep } from './case-step.ts';

/** After so many lines the journal is rewritten as what is known now. */
const LINES_BEFORE_REWRITE = 100_000;

const line = z.union([
  z.object({ number: z.int(), step: caseStep }),
  /** The messages of all steps up to this one are acknowledged by Kafka. */
  z.object({ toldThrough: z.int() }),
  z.object({ case: caseFile }),
  z.object({ review: z.string(), determined: z.boolean() }),
  z.object({ number: z.int(), untold: caseStep }),
]);
type Line = z.infer<typeof line>;

/** A step whose messages Kafka has not acknowledged yet. */
export interface UntoldStep {
  number: number;
  step: CaseStep;
}

/**
 * The books of case management: what is known of each case, and which steps are still to be told. A step is in the
 * journal before anything else happens of it, so after a crash the books are as they were, and what may not have been
 * told is told again.
 */
export class CaseLedger {
  readonly register = new CaseRegister();
  private readonly journal: Journal;
  private untoldSteps: UntoldStep[] = [];
  private lastNumber = 0;
  private lines: number;

  constructor(stateDir: string) {
    const { journal, values } = Journal.open(join(stateDir, 'cases.journal'));
    this.journal = journal;
    this.lines = values.length;
    for (const value of values) this.read(line.parse(value));
  }

  record(steps: readonly CaseStep[]): void {
    if (steps.length === 0) return;
    const numbered = steps.map((step, index) => ({ number: this.lastNumber + 1 + index, step }));
    this.append(numbered);
    for (const each of numbered) this.read(each);
    if (this.lines > LINES_BEFORE_REWRITE) this.rewrite();
  }

  /** The oldest untold steps, at most `limit`. */
  untold(limit: number): UntoldStep[] {
    return this.untoldSteps.slice(0, limit);
  }

  markTold(steps: readonly UntoldStep[]): void {
    const last = steps.at(-1);
    if (last === undefined) return;
    this.append([{ toldThrough: last.number }]);
    this.read({ toldThrough: last.number });
  }

  close(): void {
    this.journal.close();
  }

  private append(lines: readonly Line[]): void {
    this.journal.append(lines);
    this.lines += lines.length;
  }

  private read(entry: Line): void {
    if ('step' in entry) {
      this.register.apply(entry.step);
      this.lastNumber = entry.number;
      this.untoldSteps.push(entry);
    } else if ('untold' in entry) {
      this.lastNumber = entry.number;
      this.untoldSteps.push({ number: entry.number, step: entry.untold });
    } else if ('toldThrough' in entry) {
      this.lastNumber = Math.max(this.lastNumber, entry.toldThrough);
      const kept = this.untoldSteps.findIndex(({ number }) => number > entry.toldThrough);
      this.untoldSteps.splice(0, kept === -1 ? this.untoldSteps.length : kept);
    } else if ('case' in entry) {
      this.register.keep(entry.case);
    } else {
      this.register.keepReview(entry.review, entry.determined);
    }
  }

  private rewrite(): void {
    const lines: Line[] = [
      ...[...this.register.allCases()].map((file) => ({ case: file })),
      ...[...this.register.allReviews()].map(([review, determined]) => ({ review, determined })),
      { toldThrough: this.lastNumber - this.untoldSteps.length },
      ...this.untoldSteps.map(({ number, step }) => ({ number, untold: step })),
    ];
    this.journal.rewrite(lines);
    this.lines = 0;
  }
}
