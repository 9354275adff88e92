// Loaded into a dispatcher before its own code: SIGUSR2 has it collect its garbage, so that what it still holds can be told.
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc');
process.on('SIGUSR2', () => collectGarbage());
