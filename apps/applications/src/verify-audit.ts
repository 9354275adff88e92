// node dist/verify-audit.js [<id>:<seal>]   walks the sealed audit and names the first row at which it does not hold
import { readConfig, runCommand, serviceConfig } from '@assistance/service-kit';
import { checkAudit, type Break, type KeptSeal } from './audit/check-audit.ts';
import { openDatabase } from './open-database.ts';

const { DATABASE_URL } = readConfig(serviceConfig.pick({ DATABASE_URL: true }), process.env);

const reasons: Record<Break, string> = {
  row_missing: 'was sealed and is gone',
  seal_missing: 'has no seal, and rows after it have',
  row_or_seal_changed: 'does not fit its seal: the row, its seal, or one before it was changed',
  kept_seal_differs: 'has another seal than the one that was kept: the chain was made anew',
};

await runCommand(async (say) => {
  const kept = keptOf(process.argv[2]);
  const prisma = openDatabase({ url: DATABASE_URL, poolSize: 1 });
  const { sealed, last, broken, unsealed, oldestUnsealedSeconds } = await checkAudit(prisma, kept).finally(
    () => prisma.$disconnect(),
  );
  if (broken !== undefined) say(`Row ${broken.id} of the audit ${reasons[broken.why]}.`);
  say(
    `${sealed} rows hold${last === undefined ? '' : `, the last of them with the seal ${last.id}:${last.seal}`}.`,
  );
  say(`${unsealed} rows wait for their seal, the oldest for ${oldestUnsealedSeconds.toFixed(1)} s.`);
  return broken === undefined;
});

function keptOf(argument: string | undefined): KeptSeal | undefined {
  if (argument === undefined) return undefined;
  const [, id, seal] = /^(\d{1,18}):([0-9a-f]{64})$/.exec(argument) ?? [];
  if (id === undefined || seal === undefined)
    throw new Error('A seal is given as the log names it: <id>:<64 hex digits>.');
  return { id: BigInt(id), seal };
}
