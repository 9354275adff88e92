// npm run format [-- <files>]: writes every file in the one style there is.
import { join } from 'node:path';
import { paths } from './machine/paths.ts';
import { runTool } from './processes/run-tool.ts';

const files = process.argv.slice(2);
await runTool({
  command: process.execPath,
  args: [
    join(paths.modules, 'prettier', 'bin', 'prettier.cjs'),
    '--write',
    ...(files.length > 0 ? files : ['.']),
  ],
  cwd: paths.root,
});
