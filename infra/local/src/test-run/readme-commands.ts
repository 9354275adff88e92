/** The shell blocks below a heading of a Markdown text, up to the next heading of the same or a higher level. */
export function readmeCommands(markdown: string, heading: string): string {
  const lines = markdown.split('\n');
  const start = lines.findIndex((line) => /^#+ /.test(line) && line.replace(/^#+ /, '') === heading);
  if (start < 0) throw new Error(`There is no heading "${heading}"`);
  const level = lines[start]!.indexOf(' ');
  const isNext = (line: string) => /^#+ /.test(line) && line.indexOf(' ') <= level;
  const blocks: string[] = [];
  let block: string[] | undefined;
  for (const line of lines.slice(start + 1)) {
    if (block === undefined && isNext(line)) break;
    if (block === undefined && line === '```sh') block = [];
    else if (block !== undefined && line === '```') {
      blocks.push(block.join('\n'));
      block = undefined;
    } else block?.push(line);
  }
  if (blocks.length === 0) throw new Error(`There is no shell block below "${heading}"`);
  return blocks.join('\n');
}
