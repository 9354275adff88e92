import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';
import type { Network } from './parse-network.ts';

export interface AddressPolicy {
  /** `public`: only what is reachable from the whole internet. `sandbox`: loopback beside it. */
  readonly rules: 'public' | 'sandbox';
  /** An agency's own networks, open whatever the rules say. */
  readonly allowedNetworks: readonly Network[];
}

/** Global unicast, the only part of IPv6 from which public addresses are assigned (RFC 4291, section 2.4). */
const globalUnicast: [ipaddr.IPv6, number] = [ipaddr.IPv6.parse('2000::'), 3];

/** Public by their numbers, but answered inside a cloud to whoever runs there: Azure's platform address. */
const cloudInternal = new Set(['168.63.129.16']);

/**
 * Whether a delivery may go to this address. Everything that IANA's special-purpose registries name is blocked, and so is,
 * as a whole, each form of IPv6 that carries an IPv4 address (mapped, compatible, 6to4, NAT64, Teredo), because what it
 * reaches depends on the machine that dials it.
 *
 * @param ip an address as `getaddrinfo` or a URL's host gives it; whatever else it is, it is blocked
 */
export function judgeAddress(ip: string, { rules, allowedNetworks }: AddressPolicy): 'allowed' | 'blocked' {
  // Stricter than ipaddr.js, which also reads `127.1` and `0177.0.0.1`. A zone names an interface, not a place.
  if (isIP(ip) === 0 || ip.includes('%')) return 'blocked';
  const address = ipaddr.parse(ip);
  const allowed =
    allowedNetworks.some((network) => isWithin(address, network)) ||
    (rules === 'sandbox' && address.range() === 'loopback') ||
    isPublic(address);
  return allowed ? 'allowed' : 'blocked';
}

/** Of the same family only: a network of IPv4 opens no IPv6 form of its addresses. */
function isWithin(address: ipaddr.IPv4 | ipaddr.IPv6, network: Network): boolean {
  return address.kind() === network.address.kind() && address.match(network.address, network.prefixLength);
}

function isPublic(address: ipaddr.IPv4 | ipaddr.IPv6): boolean {
  if (address.range() !== 'unicast') return false;
  return address instanceof ipaddr.IPv6
    ? address.match(globalUnicast)
    : !cloudInternal.has(address.toString());
}
