import { parseArgs } from 'node:util';
import { MachineFault } from '../machine/machine-fault.ts';
import { localDirOf } from '../machine/paths.ts';

export interface PlatformSettings {
  /** Of the gateway; every other port is a free one. */
  port: number;
  localDir: string;
  /** Processes of each service. */
  instances: number;
  deployment: 'sandbox' | 'agency';
  /** Stop after the main job. */
  once: boolean;
}

const usage = `Usage: npm start -- [--once] [--instances <1-9>] [--deployment sandbox|agency]
Variables: PORT (8080) of the gateway, LOCAL_DIR (.local), KAFKA_BROKERS (brokers of your own)`;

/** From the command line and the environment, every fault of them a message for a person. */
export function platformSettings(args: string[], environment: NodeJS.ProcessEnv): PlatformSettings {
  const { once, instances, deployment } = parse(args);
  if (!/^[1-9]$/.test(instances)) throw new MachineFault(`--instances is a number from 1 to 9.\n${usage}`);
  if (deployment !== 'sandbox' && deployment !== 'agency') {
    throw new MachineFault(`--deployment is sandbox or agency.\n${usage}`);
  }
  const port = Number(environment['PORT'] ?? 8080);
  if (!Number.isInteger(port) || port < 1 || port > 65_535) {
    throw new MachineFault(`PORT=${environment['PORT']} is no port. Choose a number from 1 to 65535.`);
  }
  return { port, localDir: localDirOf(environment), instances: Number(instances), deployment, once };
}

function parse(args: string[]) {
  try {
    const { values } = parseArgs({
      args,
      options: {
        once: { type: 'boolean', default: false },
        instances: { type: 'string', default: '1' },
        deployment: { type: 'string', default: 'sandbox' },
      },
    });
    return values;
  } catch (error) {
    throw new MachineFault(`${(error as Error).message}\n${usage}`);
  }
}
