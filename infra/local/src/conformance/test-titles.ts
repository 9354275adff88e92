import ts from 'typescript';

export interface TestTitle {
  title: string;
  /** Of those that enclose it, the outermost first. */
  describes: string[];
}

/** The titles of a test file's tests as they are written; those of `test.each` with their placeholders. */
export function testTitles(source: string): TestTitle[] {
  const titles: TestTitle[] = [];
  const visit = (node: ts.Node, describes: string[]): void => {
    const named = ts.isCallExpression(node) ? nameOf(node) : undefined;
    if (named?.is === 'test') titles.push({ title: named.title, describes });
    const inside = named?.is === 'describe' ? [...describes, named.title] : describes;
    ts.forEachChild(node, (child) => visit(child, inside));
  };
  visit(ts.createSourceFile('test.ts', source, ts.ScriptTarget.Latest), []);
  return titles;
}

function nameOf({ expression, arguments: given }: ts.CallExpression) {
  const [first] = given;
  if (first === undefined || !ts.isStringLiteralLike(first)) return undefined;
  const is = rootOf(expression);
  return is === 'test' || is === 'describe' ? { is, title: first.text } : undefined;
}

/** `test` of `test(…)`, `test.each(…)(…)` and `test.each<…>(…)(…)`. */
function rootOf(node: ts.Expression): string | undefined {
  if (ts.isIdentifier(node)) return node.text;
  return ts.isCallExpression(node) || ts.isPropertyAccessExpression(node)
    ? rootOf(node.expression)
    : undefined;
}
