import { createAnswersCheck } from './check-answers.ts';
import { applicationFacts } from './facts-of.ts';
import type { PackFile } from './pack-file.ts';
import type { Condition, Conditions } from './program-pack.ts';

/** What is wrong with a pack beyond its shape: a rule about a fact that nobody can give would send everyone to review. */
export function checkPack({ kind, pack }: PackFile, folderName: string): string[] {
  const faults: string[] = [];
  if (kind === 'program' && pack.code !== folderName) faults.push('code must be the name of its folder');
  if (pack.effectiveTo !== null && pack.effectiveTo <= pack.effectiveFrom) {
    faults.push('effectiveTo must be after effectiveFrom');
  }
  try {
    createAnswersCheck(pack.answersSchema);
  } catch (error) {
    faults.push(`answersSchema: ${error instanceof Error ? error.message : 'is not a JSON Schema'}`);
  }
  if (pack.decidedBy === 'person' && pack.rules.length > 0)
    faults.push('rules: a person decides, so there are none');
  const properties = Object.keys(pack.answersSchema['properties'] ?? {});
  const facts = new Set<string>([...properties, ...applicationFacts, ...Object.keys(pack.lookups)]);
  for (const [name, { by }] of Object.entries(pack.lookups)) {
    if (!properties.includes(by)) faults.push(`lookups.${name}: ${by} is no property of answersSchema`);
    if (properties.includes(name)) faults.push(`lookups.${name}: an answer has the same name`);
  }
  const codes = pack.rules.map(({ code }) => code);
  for (const [index, rule] of pack.rules.entries()) {
    if (codes.indexOf(rule.code) !== index) faults.push(`rules.${rule.code} is there more than once`);
    const used = [...factsIn(rule.conditions), ...(rule.when === undefined ? [] : factsIn(rule.when))];
    for (const fact of used) {
      if (!facts.has(fact)) faults.push(`rules.${rule.code}: there is no fact ${fact}`);
    }
  }
  return faults;
}

function factsIn(condition: Condition | Conditions): string[] {
  if ('all' in condition) return condition.all.flatMap(factsIn);
  if ('any' in condition) return condition.any.flatMap(factsIn);
  if ('not' in condition) return factsIn(condition.not);
  const { fact, value } = condition;
  return typeof value === 'object' && !Array.isArray(value) ? [fact, value.fact] : [fact];
}
