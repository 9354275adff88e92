import { isMet, wasBusy, type Figure } from './row.ts';

const heads = ['', 'measured', 'ratio', 'goal', '', 'limit in the same run', 'remarks'];

/** A table that is read in a terminal and is Markdown, too. */
export function figureTable(figures: Figure[]): string {
  const lines = [heads, ...figures.map(cellsOf)];
  const widths = heads.map((_, column) => Math.max(3, ...lines.map((cells) => cells[column]!.length)));
  const [head, ...body] = lines.map(
    (cells) => `| ${cells.map((cell, column) => cell.padEnd(widths[column]!)).join(' | ')} |`,
  );
  const rule = `| ${widths.map((width) => '-'.repeat(width)).join(' | ')} |`;
  return [head, rule, ...body].join('\n');
}

function cellsOf(figure: Figure): string[] {
  const { what, value, unit, limit, ratio, of, goal, remarks = [] } = figure;
  const met = isMet(figure);
  const busy = wasBusy(figure)
    ? [`the machine was busy: ${percent(limit.perSecond / limit.quietPerSecond)} of a quiet one's limit`]
    : [];
  return [
    what,
    `${number(value)}${unit === '/s' || unit === '%' ? unit : unit === '' ? '' : ` ${unit}`}`,
    ratio === undefined ? '' : `${ratio.toFixed(2)}${of === undefined ? '' : ` of ${of}`}`,
    goal === undefined ? '' : 'atLeast' in goal ? `≥ ${goal.atLeast}` : `≤ ${goal.atMost}`,
    met === undefined ? '' : met ? 'met' : 'missed',
    `${limit.what} ${number(limit.perSecond)}/s`,
    [...busy, ...remarks].join('; '),
  ];
}

const number = (value: number): string =>
  value.toLocaleString('en-US', { maximumFractionDigits: value < 10 ? 2 : value < 100 ? 1 : 0 });

const percent = (share: number): string => `${Math.round(share * 100)} %`;
