import { join } from 'node:path';
import { paths } from './paths.ts';

/** The command line of turbo, without the shell script that pnpm puts around it. */
export function turbo(...args: string[]): {
  command: string;
  args: string[];
  cwd: string;
  env: NodeJS.ProcessEnv;
} {
  return {
    command: process.execPath,
    args: [join(paths.modules, 'turbo', 'bin', 'turbo'), ...args],
    cwd: paths.root,
    env: { ...process.env, TURBO_TELEMETRY_DISABLED: '1', DO_NOT_TRACK: '1', TURBO_NO_UPDATE_NOTIFIER: '1' },
  };
}
