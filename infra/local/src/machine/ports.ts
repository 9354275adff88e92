import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { freePort, isFree } from './free-port.ts';
import { MachineFault } from './machine-fault.ts';
import { replaceFile } from './replace-file.ts';

const stored = z.record(z.string(), z.number().int());

/** A free port for each name, the same as the last time where nobody took it since. */
export async function assignPorts<Name extends string>(
  file: string,
  names: Name[],
): Promise<Record<Name, number>> {
  const last = readPorts(file);
  const ports: Record<string, number> = {};
  for (const name of names) {
    let port = await freePort(last[name]);
    while (Object.values(ports).includes(port)) port = await freePort();
    ports[name] = port;
  }
  replaceFile(file, { ...last, ...ports });
  return ports;
}

export async function checkGatewayPort(port: number): Promise<void> {
  if (await isFree(port)) return;
  const other = port < 65_000 ? port + 1 : 8080;
  throw new MachineFault(
    `Port ${port} is in use by another program, or may not be used. Choose another one: PORT=${other} npm start`,
  );
}

function readPorts(file: string): Record<string, number> {
  try {
    return stored.parse(JSON.parse(readFileSync(file, 'utf8')));
  } catch {
    return {};
  }
}
