import { Resolver } from 'node:dns/promises';
import { isIP, type LookupFunction } from 'node:net';
import { judgeAddress, type AddressPolicy } from '@assistance/public-address';
import { DeliveryError } from './delivery-error.ts';

const QUERY = { timeout: 2_000, tries: 2 };

export interface Address {
  address: string;
  family: 4 | 6;
}

/** The addresses of a host, each of which a delivery may go to; fails when there is none, or one that it may not go to. */
export type HostResolver = (hostname: string) => Promise<Address[]>;

/**
 * Resolves without the system's four lookup threads, in which a few hanging names would hold up everyone.
 *
 * @param servers addresses of name servers, with a port if it is not 53; none: the system's
 */
export function createHostResolver(policy: AddressPolicy, servers: string[]): HostResolver {
  const resolver = new Resolver(QUERY);
  if (servers.length > 0) resolver.setServers(servers);
  return async (hostname) => {
    const addresses = await addressesOf(hostname, resolver);
    if (addresses.some(({ address }) => judgeAddress(address, policy) === 'blocked'))
      throw new DeliveryError('BLOCKED_ADDRESS', 'the name leads to an address that is not public');
    return addresses;
  };
}

/** A `lookup` for connections, so that what was judged is what is connected to. */
export const lookupBy =
  (resolveHost: HostResolver): LookupFunction =>
  (hostname, options, callback) => {
    resolveHost(hostname).then(
      (addresses) => {
        if (options.all === true) callback(null, addresses);
        else callback(null, addresses[0]!.address, addresses[0]!.family);
      },
      (error: unknown) => callback(error as NodeJS.ErrnoException, '', 0),
    );
  };

async function addressesOf(hostname: string, resolver: Resolver): Promise<Address[]> {
  const family = isIP(hostname);
  if (family !== 0) return [{ address: hostname, family: family as Address['family'] }];
  if (hostname === 'localhost' || hostname.endsWith('.localhost')) {
    return [
      { address: '127.0.0.1', family: 4 },
      { address: '::1', family: 6 },
    ];
  }
  const [four, six] = await Promise.allSettled([resolver.resolve4(hostname), resolver.resolve6(hostname)]);
  const addresses: Address[] = [
    ...(four.status === 'fulfilled' ? four.value.map((address) => ({ address, family: 4 as const })) : []),
    ...(six.status === 'fulfilled' ? six.value.map((address) => ({ address, family: 6 as const })) : []),
  ];
  if (addresses.length === 0) throw new DeliveryError('DNS_FAILED', 'the name has no address');
  return addresses;
}
