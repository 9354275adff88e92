// node dist/erase-answers.js --older-than-days 365 [--dry-run]   erases the answers of applications closed longer ago
import { parseArgs } from 'node:util';
import { readConfig, runCommand, serviceConfig } from '@assistance/service-kit';
import { openDatabase } from './open-database.ts';
import { countErasable, eraseAnswers } from './retention/erase-answers.ts';

const { DATABASE_URL } = readConfig(serviceConfig.pick({ DATABASE_URL: true }), process.env);

await runCommand(async (say) => {
  const { values } = parseArgs({
    options: { 'older-than-days': { type: 'string' }, 'dry-run': { type: 'boolean', default: false } },
  });
  const days = daysOf(values['older-than-days']);
  const prisma = openDatabase({ url: DATABASE_URL, poolSize: 1 });
  try {
    const erased = values['dry-run'] ? 0 : await eraseAnswers(prisma, days);
    const left = await countErasable(prisma, days);
    const which = `applications that were closed more than ${days} days ago`;
    if (values['dry-run']) say(`The answers of ${left} ${which} would be erased.`);
    else say(`The answers of ${erased} ${which} are erased.`);
    if (!values['dry-run'] && left > 0) say(`${left} more were in use just now: run this again.`);
    return values['dry-run'] || left === 0;
  } finally {
    await prisma.$disconnect();
  }
});

function daysOf(text: string | undefined): number {
  if (text === undefined || !/^\d{1,5}$/.test(text))
    throw new Error(
      'Say how old: --older-than-days <a whole number of days since the application was closed>.',
    );
  return Number(text);
}
