import { topics } from '@assistance/types';
import type { PrismaClient } from '../../src/generated/prisma/client.ts';

export interface Told {
  topic: string;
  type: string;
  data: Record<string, any>;
}

/** What is in the outbox about an application, in the order in which it will be published. */
export async function toldAbout(prisma: PrismaClient, applicationId: string): Promise<Told[]> {
  const rows = await prisma.outbox.findMany({ where: { key: applicationId }, orderBy: { id: 'asc' } });
  return rows.map(({ topic, value }) => {
    const { type, subject, data } = JSON.parse(Buffer.from(value ?? []).toString());
    if (subject !== applicationId) throw new Error('the subject is not the key');
    return { topic, type, data };
  });
}

/** In short: `decided eligible`, `intake review`. */
export const inShort = (told: Told[]): string[] =>
  told.map(({ topic, data }) =>
    topic === topics.intake.name ? `intake ${data['kind']}` : `decided ${data['decision']}`,
  );
