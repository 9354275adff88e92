import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../../../..', import.meta.url)).replace(/\/$/, '');

/** Places of the repository, whatever the current folder is. */
export const paths = {
  root,
  apps: join(root, 'apps'),
  modules: join(root, 'node_modules'),
  cache: join(root, 'node_modules', '.cache'),
  kafkaConfig: join(root, 'infra', 'kafka'),
};

/** Everything that the local platform keeps: `.local`, or LOCAL_DIR to have a second one beside it. */
export function localDirOf(environment: NodeJS.ProcessEnv): string {
  return resolve(root, environment['LOCAL_DIR'] ?? '.local');
}
