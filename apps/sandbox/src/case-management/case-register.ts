import type { CaseFile, CaseStep } from './case-step.ts';

/** Cases that nothing more is expected of are forgotten beyond this number, the longest finished first. */
const MAX_FINISHED = 50_000;

/** What is known of all cases and reviews: the sum of the steps. */
export class CaseRegister {
  private readonly cases = new Map<string, CaseFile>();
  private readonly caseOfApplication = new Map<string, string>();
  /** By application: whether it has been answered. */
  private readonly reviews = new Map<string, boolean>();
  /** In the order in which they fall due, as every determination takes the same time. */
  private readonly due = new Set<string>();
  private readonly finished = new Set<string>();

  case(caseId: string): CaseFile | undefined {
    return this.cases.get(caseId);
  }

  caseFor(applicationId: string): CaseFile | undefined {
    return this.cases.get(this.caseOfApplication.get(applicationId) ?? '');
  }

  review(applicationId: string): { determined: boolean } | undefined {
    const determined = this.reviews.get(applicationId);
    return determined === undefined ? undefined : { determined };
  }

  /** Cases whose determination is due, at most `limit`. */
  dueAt(now: Date, limit: number): CaseFile[] {
    const found: CaseFile[] = [];
    for (const caseId of this.due) {
      const file = this.cases.get(caseId);
      if (file?.due == null || new Date(file.due.at) > now || found.length === limit) break;
      found.push(file);
    }
    return found;
  }

  apply(step: CaseStep): void {
    switch (step.step) {
      case 'case_opened': {
        const { caseId, applicationId, due } = step;
        return this.keep({ caseId, applicationId, due, status: 'opened', determined: false });
      }
      case 'case_determined': {
        const status = step.previousStatus === 'closed' ? 'closed' : step.outcome;
        return this.keep({ ...this.known(step.caseId), status, determined: true, due: null });
      }
      case 'case_closed':
        return this.keep({ ...this.known(step.caseId), status: 'closed', due: null });
      case 'review_asked':
        this.reviews.set(step.applicationId, false);
        return;
      case 'review_determined':
        this.finishReview(step.applicationId);
        return;
      default:
        return step satisfies never;
    }
  }

  /** Takes over a case as it was kept. */
  keep(file: CaseFile): void {
    this.cases.set(file.caseId, file);
    this.caseOfApplication.set(file.applicationId, file.caseId);
    if (file.due === null) this.due.delete(file.caseId);
    else this.due.add(file.caseId);
    if (file.determined || file.status === 'closed') this.finished.add(file.caseId);
    if (this.finished.size > MAX_FINISHED) this.forgetOldest();
  }

  keepReview(applicationId: string, determined: boolean): void {
    if (determined) this.finishReview(applicationId);
    else this.reviews.set(applicationId, false);
  }

  allCases(): Iterable<CaseFile> {
    return this.cases.values();
  }

  allReviews(): Iterable<[applicationId: string, determined: boolean]> {
    return this.reviews.entries();
  }

  private known(caseId: string): CaseFile {
    const file = this.cases.get(caseId);
    if (file === undefined) throw new Error('a step of a case that was never opened');
    return file;
  }

  private finishReview(applicationId: string): void {
    this.reviews.delete(applicationId);
    this.reviews.set(applicationId, true);
    const [[oldest, determined] = []] = this.reviews;
    if (this.reviews.size > MAX_FINISHED && oldest !== undefined && determined) this.reviews.delete(oldest);
  }

  private forgetOldest(): void {
    const [oldest] = this.finished;
    const file = this.cases.get(oldest ?? '');
    if (oldest === undefined || file === undefined) return;
    this.finished.delete(oldest);
    this.cases.delete(oldest);
    this.caseOfApplication.delete(file.applicationId);
  }
}
