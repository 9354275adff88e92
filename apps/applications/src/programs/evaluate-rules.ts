import { Engine, type TopLevelCondition } from 'json-rules-engine';
import { factsOf, type Submission } from './facts-of.ts';
import type { Condition, Conditions, ProgramPack, Rule } from './program-pack.ts';
import { ruleOperators, UnusableFact } from './rule-operators.ts';

/** What a rule said. A rule that concerns someone else is `met`. */
export interface RuleOutcome {
  rule: Rule;
  outcome: 'met' | 'unmet' | 'undetermined';
}

export interface Evaluation {
  verdict: 'eligible' | 'ineligible' | 'undetermined';
  outcomes: RuleOutcome[];
}

/**
 * What the rules of a pack say about an application. A fact that is missing or unusable makes its rule undetermined, and
 * one undetermined rule the whole: nobody is denied before every question has an answer.
 */
export async function evaluateRules(pack: ProgramPack, submission: Submission): Promise<Evaluation> {
  const facts = factsOf(pack, submission);
  const outcomes: RuleOutcome[] = [];
  for (const rule of pack.rules) outcomes.push({ rule, outcome: await outcomeOf(rule, facts) });
  return { verdict: verdictOf(pack, outcomes), outcomes };
}

function verdictOf({ decidedBy }: ProgramPack, outcomes: RuleOutcome[]): Evaluation['verdict'] {
  if (decidedBy === 'person' || outcomes.some(({ outcome }) => outcome === 'undetermined')) {
    return 'undetermined';
  }
  return outcomes.every(({ outcome }) => outcome === 'met') ? 'eligible' : 'ineligible';
}

async function outcomeOf(rule: Rule, facts: Record<string, unknown>): Promise<RuleOutcome['outcome']> {
  try {
    if (rule.when !== undefined && !(await holds(rule.when, facts))) return 'met';
    return (await holds(rule.conditions, facts)) ? 'met' : 'unmet';
  } catch (error) {
    if (isWantingFact(error)) return 'undetermined';
    throw error;
  }
}

async function holds(conditions: Conditions, facts: Record<string, unknown>): Promise<boolean> {
  const engine = new Engine([{ conditions: inOrder(conditions), event: { type: 'holds' } }]);
  for (const [name, compare] of Object.entries(ruleOperators)) engine.addOperator(name, compare);
  const { events } = await engine.run(facts);
  return events.length > 0;
}

/**
 * The engine asks all of a list at once, unless priorities make it ask one after the other. In order, a fact that is
 * missing does not matter behind one that has settled the list.
 */
function inOrder(conditions: Conditions): TopLevelCondition {
  const ranked = (list: Condition[]): Condition[] =>
    list.map((each, index) => ({ ...asOrdered(each), priority: list.length - index }));
  const asOrdered = (condition: Condition): Condition => {
    if ('all' in condition) return { all: ranked(condition.all) };
    if ('any' in condition) return { any: ranked(condition.any) };
    if ('not' in condition) return { not: asOrdered(condition.not) };
    return condition;
  };
  return asOrdered(conditions) as TopLevelCondition;
}

const isWantingFact = (error: unknown): boolean =>
  error instanceof UnusableFact ||
  (error instanceof Error && 'code' in error && error.code === 'UNDEFINED_FACT');
