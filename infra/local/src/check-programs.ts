// npm run check-programs [-- <folder of a set> …]: what the service would refuse of the packs, and their worked examples.
import { join, resolve } from 'node:path';
import { paths } from './machine/paths.ts';
import { runTool } from './processes/run-tool.ts';

const sets = process.argv.slice(2).map((set) => resolve(set));
await runTool({
  command: process.execPath,
  args: ['--conditions=source', '--disable-warning=ExperimentalWarning', 'src/check-programs.ts', ...sets],
  cwd: join(paths.apps, 'applications'),
});
