// npm run generate: database clients and documents, from their sources.
import { runTool } from './processes/run-tool.ts';
import { turbo } from './machine/turbo.ts';

await runTool(turbo('run', 'generate', 'describe', ...process.argv.slice(2)));
