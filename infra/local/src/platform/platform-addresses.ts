import type { PlatformSettings } from './platform-settings.ts';
import { assignPorts } from '../machine/ports.ts';
import { basePaths, instancesOf } from './services.ts';

/** Every address of one run; they stay when a process is started again. */
export interface PlatformAddresses {
  gateway: string;
  issuer: string;
  /** Of all access tokens in the local platform. */
  audience: string;
  port(name: string): number;
  /** By process name: `http://127.0.0.1:…`. */
  services: Record<string, string>;
  ops: Record<string, string>;
  /** By base path, for the gateway. */
  upstreams: Record<string, string[]>;
}

const audience = 'https://assistance.example';

export async function platformAddresses(
  settings: PlatformSettings,
  portsFile: string,
): Promise<PlatformAddresses> {
  const instances = instancesOf(settings.instances);
  const names = [
    ...['postgres', 'kafka', 'kafka-controller', 'control', 'sandbox:ops'],
    ...instances.flatMap(({ name }) => [`${name}:http`, `${name}:ops`]),
  ];
  const ports = await assignPorts(portsFile, names);
  const address = (name: string) => `http://127.0.0.1:${ports[name]}`;
  const gateway = `http://localhost:${settings.port}`;
  const upstreams: Record<string, string[]> = {};
  for (const { service, name } of instances)
    (upstreams[basePaths[service]] ??= []).push(address(`${name}:http`));
  return {
    gateway,
    issuer: `${gateway}/auth`,
    audience,
    port: (name) => {
      const port = ports[name];
      if (port === undefined) throw new Error(`No port was assigned to ${name}`);
      return port;
    },
    services: Object.fromEntries(instances.map(({ name }) => [name, address(`${name}:http`)])),
    ops: Object.fromEntries(
      [...instances.map(({ name }) => name), 'sandbox'].map((name) => [name, address(`${name}:ops`)]),
    ),
    upstreams,
  };
}
