import assert from 'node:assert/strict';
import type { ReceivedRecord } from '@assistance/service-kit';
import { topics } from '@assistance/types';
import { toldAbout } from '../support/outbox.ts';
import { get, post, type JsonAnswer } from '../support/submission.ts';
import type { Crash, World } from './open-world.ts';
import type { Answers, Expected, Model, ModelApplication, Submission } from './reference-model.ts';

const answersOf: Record<Answers, Record<string, unknown> | undefined> = {
  none: undefined,
  low: { householdSize: 2, monthlyIncomeCents: 100 },
  high: { householdSize: 2, monthlyIncomeCents: 250_001 },
  ill: { householdSize: 'two' },
};

/** What each status is called to an applicant (design 3). */
const plainWords = {
  submitted: 'Received',
  validating: 'Being checked',
  eligible: 'May qualify',
  ineligible: 'Not eligible',
  awarded: 'Approved',
  withdrawn: 'Withdrawn',
};

export type History = ReturnType<typeof openHistory>;

/** One history: a client of its own, what it does, and what it finds compared with the model. */
export function openHistory(world: World) {
  const { client, owner } = world.newClient();
  const { prisma } = world;
  /** The first answer about each application, in the order of submission. */
  const firsts: Record<string, unknown>[] = [];
  const withdrawn = new Map<number, unknown>();
  const refOf = (applicant: number): string => `${owner.split('#').at(-1)}-applicant-${applicant}`;
  const bodyOf = ({ program, applicant, answers }: Submission) => ({
    ...{ programCode: program, channel: 'web', applicantRef: refOf(applicant) },
    ...(answersOf[answers] && { answers: answersOf[answers] }),
  });
  const idOf = async (model: Model, n: number): Promise<string> => {
    const key = [...model.keys].find(([, at]) => at === n)![0];
    const row = await prisma.application.findFirstOrThrow({ where: { owner, idempotencyKey: key } });
    return row.applicationId;
  };
  const shift = (to: string) =>
    prisma.$executeRawUnsafe(
      `update application set work_due_at = ${to} where owner = $1 and work_due_at > clock_timestamp()`,
      owner,
    );
  const send = async (path: string, key: string | null, json?: object) => {
    const headers = key === null ? {} : { 'idempotency-key': key };
    const answer = await post(client(), path, { headers, ...(json && { json }) });
    return { ...answer, replayed: answer.headers['idempotent-replayed'] === 'true' };
  };

  return {
    idOf,
    submit: (key: string, submission: Submission) => send('applications', key, bodyOf(submission)),
    submitIllShaped: (key: string) =>
      send('applications', key, { programCode: 'ANY-AID', channel: 'fax', applicantRef: refOf(0) }),
    withdraw: async (model: Model, n: number, key: string | null) =>
      send(`applications/${await idOf(model, n)}/withdraw`, key),
    decideOnce: () => world.decideOnce(),
    decide: async () => {
      while (await world.decideOnce());
    },
    claim: () => world.claim(),
    send: (records: ReceivedRecord[]) => world.send(records),
    crash: (at: Crash, work: () => Promise<unknown>) => world.crash(at, work),
    /** What is due later is due only once the history says that time passes. */
    putOff: () => shift(`clock_timestamp() + interval '1 hour'`),
    /** Well before now: the column rounds to milliseconds, and what is due in half a one is not due yet. */
    passTime: () => shift(`clock_timestamp() - interval '1 second'`),

    expectAnswer(answer: JsonAnswer | undefined, expected: Expected): void {
      if ('code' in expected) {
        assert.deepEqual({ status: answer?.status, code: answer?.body.code }, expected);
        return;
      }
      const { status, n } = expected;
      assert.equal(answer?.status, status, JSON.stringify(answer?.body));
      const same = status === 201 ? (firsts[n] ??= answer.body) : (withdrawn.get(n) ?? answer.body);
      if (status === 200) withdrawn.set(n, same);
      assert.deepEqual(answer.body, same, 'each answer to a key is the first again');
    },

    /** Everything that can be known of these applications is as the model says. */
    async expectAll(model: Model, ns: number[]): Promise<void> {
      assert.equal(await prisma.application.count({ where: { owner } }), model.applications.length);
      for (const n of ns) {
        const application = model.applications[n]!;
        const id = await idOf(model, n);
        const { body } = await get(client(), `applications/${id}`);
        const { status, caseId, submission } = application;
        assert.deepEqual(
          [body.status, body.caseId, body.programCode, body.applicantRef],
          [status, caseId, submission.program, refOf(submission.applicant)],
        );
        if (firsts[n] !== undefined) {
          assert.deepEqual({ ...body, status: 'submitted', caseId: null }, firsts[n]);
        }
        const plain = await get(client(), `applications/${id}/status`);
        assert.equal(plain.body.status, plainWords[status]);
        const history = await get(client(), `applications/${id}/history`);
        assert.deepEqual(history.body.data.map(historyLine(submission.program)), application.history);
        assert.deepEqual((await toldAbout(prisma, id)).map(toldLine), application.told);
        assert.equal(
          await prisma.audit.count({ where: { applicationId: id, action: 'case_message.ignored' } }),
          application.ignored,
          'messages that changed nothing, audited',
        );
      }
    },

    /** The pages of a list, one after the other, are the wanted applications, newest first, each once. */
    async expectListed(
      model: Model,
      wanted: number[],
      filters: { program: string | null; status: string | null; limit: number },
    ): Promise<void> {
      const ids = await Promise.all(wanted.map((n) => idOf(model, n)));
      const query = new URLSearchParams({ limit: String(filters.limit) });
      if (filters.program !== null) query.set('programCode', filters.program);
      if (filters.status !== null) query.set('status', filters.status);
      const listed: { applicationId: string; submittedAt: string }[] = [];
      for (let cursor: string | null = ''; cursor !== null;) {
        if (cursor !== '') query.set('cursor', cursor);
        const { body } = await get(client(), `applications?${query.toString()}`);
        assert.ok(body.data.length <= filters.limit);
        listed.push(...body.data);
        cursor = body.page.nextCursor;
      }
      assert.deepEqual(listed.map(({ applicationId }) => applicationId).sort(), ids.sort());
      const order = listed.map(({ submittedAt, applicationId }) => `${submittedAt} ${applicationId}`);
      assert.deepEqual(order, order.toSorted().reverse());
    },
  };
}

/** As the model writes it; which rule refuses is the program's own. */
const historyLine =
  (program: string) =>
  ({ status, reason }: { status: ModelApplication['status']; reason: { code: string } | null }): string => {
    const ownRule = { 'TEST-INELIGIBLE': 'nobody_qualifies', 'TEST-SCHEMA': 'income_within_limit' }[program];
    const code = reason?.code ?? '-';
    return `${status} ${status === 'ineligible' && code === ownRule ? 'rules' : code}`;
  };

const toldLine = ({ topic, data }: { topic: string; data: Record<string, any> }): string =>
  topic === topics.intake.name
    ? `intake ${data['kind']} ${data['caseId'] ?? '-'}`
    : `decided ${data['decision']} ${data['caseId'] ?? '-'}`;
