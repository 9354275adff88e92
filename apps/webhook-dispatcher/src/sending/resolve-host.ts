import { Resolver } from 'node:dns/promises';
import type { LookupFunction } from 'node:net';
import { judgeAddress, type AddressPolicy } from '@assistance/public-address';

const QUERY = { timeout: 2_000, tries: 2 };

/** Carries a code that `reasonOfError` knows. */
export class DeliveryError extends Error {
  readonly code: 'BLOCKED_ADDRESS' | 'DNS_FAILED' | 'DELIVERY_TIMEOUT';

  constructor(code: DeliveryError['code'], message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'DeliveryError';
    this.code = code;
  }
}

/**
 * A `lookup` for connections that answers only addresses that a delivery may go to, so that the address that was judged
 * is the one that is connected to. A name of which any address is blocked is blocked. Resolves without the system's
 * four lookup threads, in which a few hanging names would hold up everyone.
 */
export function createVettedLookup(policy: AddressPolicy): LookupFunction {
  const resolver = new Resolver(QUERY);
  return (hostname, options, callback) => {
    resolveHost(resolver, hostname).then(
      (addresses) => {
        if (addresses.some(({ address }) => judgeAddress(address, policy) === 'blocked')) {
          callback(
            new DeliveryError('BLOCKED_ADDRESS', 'the name leads to an address that is not public'),
            '',
            0,
          );
        } else if (options.all === true) {
          callback(null, addresses);
        } else {
          callback(null, addresses[0]!.address, addresses[0]!.family);
        }
      },
      (error: unknown) => callback(error as NodeJS.ErrnoException, '', 0),
    );
  };
}

interface Address {
  address: string;
  family: 4 | 6;
}

async function resolveHost(resolver: Resolver, hostname: string): Promise<Address[]> {
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
