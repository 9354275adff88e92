import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { UnacceptableRecord, type ReceivedRecord } from '@assistance/service-kit';
import type { Got } from 'got';
import { claimDue } from '../src/deciding/claim-due.ts';
import { caseRecord, determined, opened, reviewed } from './support/case-record.ts';
import { inShort, toldAbout } from './support/outbox.ts';
import { clientOf, startService, type Service } from './support/start-service.ts';
import { get, post, submitted } from './support/submission.ts';

let service: Service;
let client: Got;
beforeAll(async () => {
  service = await startService({ decide: false });
  client = clientOf(service);
});
afterAll(() => service.stop());

const read = async (applicationId: string) => {
  const { status, caseId } = (await get(client, `applications/${applicationId}`)).body;
  return { status, caseId };
};
const take = (...records: ReceivedRecord[]) => service.takeCaseMessages(records);
const told = async (applicationId: string) => inShort(await toldAbout(service.prisma, applicationId));
const auditOf = async (applicationId: string | null, action: string) =>
  service.prisma.audit.findMany({ where: { applicationId, action } });

async function eligible(): Promise<string> {
  const applicationId = await submitted(client, { programCode: 'TEST-PENDING' });
  await service.decideOnce();
  return applicationId;
}

async function settle(): Promise<void> {
  while (await service.decideOnce());
}

describe('in order', () => {
  test('a case is opened and awarded', async () => {
    const applicationId = await eligible();
    await take(opened(applicationId));
    expect(await read(applicationId)).toEqual({ status: 'eligible', caseId: 'case-1' });
    await take(determined(applicationId, 'awarded'));
    expect(await read(applicationId)).toEqual({ status: 'awarded', caseId: 'case-1' });
    expect(await told(applicationId)).toEqual(['intake eligible', 'decided eligible', 'decided awarded']);
    const [last] = (await toldAbout(service.prisma, applicationId)).slice(-1);
    expect(last?.data['caseId']).toBe('case-1');
  });

  test('a case is denied', async () => {
    const applicationId = await eligible();
    await take(opened(applicationId), determined(applicationId, 'ineligible'));
    expect(await read(applicationId)).toEqual({ status: 'ineligible', caseId: 'case-1' });
    expect(await told(applicationId)).toEqual(['intake eligible', 'decided eligible', 'decided ineligible']);
  });
});

describe('whatever the order, and however often', () => {
  const steps = ['decide', 'open', 'determine'] as const;
  const orders = permutations([...steps]);

  test.each(orders.map((order) => [order.join(', '), order] as const))('%s', async (_name, order) => {
    const applicationId = await submitted(client, { programCode: 'TEST-PENDING' });
    const messages = { open: opened(applicationId), determine: determined(applicationId, 'awarded') };
    for (const step of order) {
      if (step === 'decide') await settle();
      else await take(messages[step], messages[step]);
    }
    await settle();
    await take(messages.determine, messages.open);
    await settle();
    expect(await read(applicationId)).toEqual({ status: 'awarded', caseId: 'case-1' });
    expect(await told(applicationId)).toEqual(['intake eligible', 'decided eligible', 'decided awarded']);
    const history = (await get(client, `applications/${applicationId}/history`)).body.data;
    expect(history.map((each: any) => each.status)).toEqual([
      'submitted',
      'validating',
      'eligible',
      'awarded',
    ]);
    expect(await auditOf(applicationId, 'case_message.ignored')).toEqual([]);
  });

  test('a determination between the claim and the decision is kept and applied', async () => {
    const applicationId = await submitted(client, { programCode: 'TEST-PENDING' });
    await claimDue(service.prisma, 10);
    await take(determined(applicationId, 'awarded'));
    await service.prisma.application.update({ where: { applicationId }, data: { workDueAt: new Date() } });
    await settle();
    expect(await read(applicationId)).toEqual({ status: 'awarded', caseId: 'case-1' });
  });

  test('a determination during a review is kept until the review is answered', async () => {
    const applicationId = await submitted(client, { programCode: 'TEST-UNDETERMINED' });
    await settle();
    await take(determined(applicationId, 'ineligible'));
    expect(await read(applicationId)).toEqual({ status: 'validating', caseId: null });
    await take(reviewed(applicationId, 'eligible'));
    await settle();
    expect(await read(applicationId)).toEqual({ status: 'ineligible', caseId: 'case-1' });
    expect(await told(applicationId)).toEqual([
      'intake review',
      'intake eligible',
      'decided eligible',
      'decided ineligible',
    ]);
  });

  test('20 messages at once make one decision', async () => {
    const applicationId = await eligible();
    await Promise.all(
      Array.from({ length: 20 }, (_, n) =>
        take(determined(applicationId, n % 2 === 0 ? 'awarded' : 'ineligible')),
      ),
    );
    expect(await told(applicationId)).toHaveLength(3);
  });
});

describe('what comes too late changes nothing and is audited', () => {
  test.each(['awarded', 'ineligible'] as const)('%s after a withdrawal', async (outcome) => {
    const applicationId = await eligible();
    await post(client, `applications/${applicationId}/withdraw`);
    await take(opened(applicationId), determined(applicationId, outcome));
    expect((await read(applicationId)).status).toBe('withdrawn');
    expect(await told(applicationId)).toEqual(['intake eligible', 'decided eligible', 'intake withdrawn']);
    expect(await auditOf(applicationId, 'case_message.ignored')).toMatchObject([
      { actor: 'case-management', detail: { type: 'case.determined', why: 'not_awaited' } },
    ]);
  });

  test('another outcome after the first', async () => {
    const applicationId = await eligible();
    await take(
      opened(applicationId),
      determined(applicationId, 'awarded'),
      determined(applicationId, 'ineligible'),
    );
    expect((await read(applicationId)).status).toBe('awarded');
    expect(await auditOf(applicationId, 'case_message.ignored')).toHaveLength(1);
  });

  test('another case for the same application', async () => {
    const applicationId = await eligible();
    await take(
      opened(applicationId),
      opened(applicationId, 'case-2'),
      determined(applicationId, 'awarded', 'case-2'),
    );
    expect(await read(applicationId)).toEqual({ status: 'eligible', caseId: 'case-1' });
    expect(await auditOf(applicationId, 'case_message.ignored')).toHaveLength(2);
  });

  test('a second early determination that differs', async () => {
    const applicationId = await submitted(client, { programCode: 'TEST-PENDING' });
    await take(determined(applicationId, 'awarded'), determined(applicationId, 'ineligible'));
    await settle();
    expect((await read(applicationId)).status).toBe('awarded');
  });

  test('another case than that of an early determination', async () => {
    const applicationId = await submitted(client, { programCode: 'TEST-PENDING' });
    await take(determined(applicationId, 'awarded'), opened(applicationId, 'case-2'));
    await settle();
    expect(await read(applicationId)).toEqual({ status: 'awarded', caseId: 'case-1' });
    expect(await auditOf(applicationId, 'case_message.ignored')).toMatchObject([
      { detail: { type: 'case.opened', why: 'case_differs' } },
    ]);
  });

  test('a second determination while the first waits to be applied', async () => {
    const applicationId = await submitted(client, { programCode: 'TEST-PENDING' });
    await take(determined(applicationId, 'awarded'));
    await service.decideOnce();
    expect((await read(applicationId)).status).toBe('eligible');
    await take(determined(applicationId, 'ineligible'));
    await settle();
    expect((await read(applicationId)).status).toBe('awarded');
  });

  test('a review answered before it was asked for, while the rules are at work', async () => {
    const applicationId = await submitted(client, { programCode: 'TEST-INELIGIBLE' });
    await claimDue(service.prisma, 10);
    await take(reviewed(applicationId, 'eligible'));
    expect((await read(applicationId)).status).toBe('validating');
    expect(await auditOf(applicationId, 'case_message.ignored')).toHaveLength(1);
  });

  test('a review that nobody asked for', async () => {
    const applicationId = await eligible();
    await take(reviewed(applicationId, 'ineligible'));
    expect((await read(applicationId)).status).toBe('eligible');
    const slow = await submitted(client, { programCode: 'TEST-SLOW' });
    await take(reviewed(slow, 'ineligible'));
    expect((await read(slow)).status).toBe('submitted');
  });

  test('a case opened after a withdrawal is still the case of the application', async () => {
    const applicationId = await submitted(client);
    await post(client, `applications/${applicationId}/withdraw`);
    await take(opened(applicationId));
    expect(await read(applicationId)).toEqual({ status: 'withdrawn', caseId: 'case-1' });
  });
});

describe('what is about nothing known', () => {
  test('is audited, and the rest is taken', async () => {
    const applicationId = await eligible();
    const unknown = 'app_01h455vb4pex5vsknk084sn02q';
    await take(opened(unknown), determined(unknown, 'awarded'), opened(applicationId));
    expect(await auditOf(unknown, 'case_message.ignored')).toHaveLength(2);
    expect((await read(applicationId)).caseId).toBe('case-1');
  });

  test('keeps nothing of an id that is none', async () => {
    await take(opened('jane@example.org'));
    const rows = await auditOf(null, 'case_message.ignored');
    expect(rows.length).toBeGreaterThan(0);
    expect(JSON.stringify(rows.map(({ detail }) => detail))).not.toContain('jane');
  });
});

describe('what is no message of this version', () => {
  const withValue = (value: string): ReceivedRecord => ({ ...opened('app_x'), value: Buffer.from(value) });

  test('a type that is not known is passed over: a newer producer may send it', async () => {
    const event = { specversion: '1.0', id: 'evt_1', source: 's', type: 'case.archived', data: {} };
    await expect(take(withValue(JSON.stringify(event)))).resolves.toBeUndefined();
  });

  test('fields that are not known are passed over', async () => {
    const applicationId = await eligible();
    const record = opened(applicationId);
    const event = JSON.parse(record.value!.toString());
    await take({
      ...record,
      value: Buffer.from(JSON.stringify({ ...event, more: 1, data: { ...event.data, more: 1 } })),
    });
    expect((await read(applicationId)).caseId).toBe('case-1');
  });

  test.each([
    ['no JSON', 'nonsense'],
    ['no CloudEvent', '{}'],
    [
      'without what it needs',
      '{"specversion":"1.0","id":"e","source":"s","type":"case.opened","data":{"applicationId":"a"}}',
    ],
  ])('%s is unacceptable, so that it goes to the dead letters', async (_what, value) => {
    await expect(take(withValue(value))).rejects.toThrow(UnacceptableRecord);
  });

  test('an outcome that is none is unacceptable', async () => {
    const record = caseRecord('case.determined', {
      applicationId: await eligible(),
      caseId: 'case-1',
      outcome: 'maybe' as 'awarded',
    });
    await expect(take(record)).rejects.toThrow(UnacceptableRecord);
  });
});

function permutations<T>(items: T[]): T[][] {
  if (items.length <= 1) return [items];
  return items.flatMap((item, n) =>
    permutations([...items.slice(0, n), ...items.slice(n + 1)]).map((rest) => [item, ...rest]),
  );
}
