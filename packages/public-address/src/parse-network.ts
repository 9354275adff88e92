import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';

/** A network as `parseNetwork` read it. */
export interface Network {
  readonly address: ipaddr.IPv4 | ipaddr.IPv6;
  readonly prefixLength: number;
}

/** Reads a CIDR such as `10.20.0.0/16` or `fd00:20::/32`; undefined for anything else. */
export function parseNetwork(text: string): Network | undefined {
  const [address = '', prefixLength = '', ...rest] = text.split('/');
  const family = isIP(address);
  if (rest.length > 0 || family === 0 || address.includes('%') || !/^\d{1,3}$/.test(prefixLength))
    return undefined;
  if (Number(prefixLength) > (family === 4 ? 32 : 128)) return undefined;
  return { address: ipaddr.parse(address), prefixLength: Number(prefixLength) };
}
