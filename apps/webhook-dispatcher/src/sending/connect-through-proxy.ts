import { request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
import { isIPv6, type Socket } from 'node:net';
import { buildConnector } from 'undici';
import { judgeAddress, type AddressPolicy } from '@assistance/public-address';
import type { Logger } from '@assistance/service-kit';
import { DeliveryError } from './delivery-error.ts';
import type { HostResolver } from './resolve-host.ts';

const COMPLAIN_MS = 10_000;
/** What is public to everyone, whatever an agency has opened. */
const everyones: AddressPolicy = { rules: 'public', allowedNetworks: [] };

export interface ProxyOptions {
  proxy: URL;
  resolveHost: HostResolver;
  /** For what lies on this side of the proxy. */
  direct: buildConnector.connector;
  timeoutMs: number;
  log: Logger;
}

/**
 * Connects through an outgoing proxy. The name is resolved and judged here as ever, and the proxy is asked for a tunnel to
 * the address that was judged, not to the name; inside it TLS is spoken with the name. An address that is allowed and not
 * public (an agency's own network, the sandbox's loopback) lies on this side of the proxy and is connected to directly.
 */
export function connectThroughProxy(options: ProxyOptions): buildConnector.connector {
  const { proxy, resolveHost, direct, timeoutMs, log } = options;
  const overTunnel = buildConnector({ allowH2: false, rejectUnauthorized: true, timeout: timeoutMs });
  let complainedAt = -Infinity;

  return (target, callback) => {
    openTunnel(target).then(
      (tunnel) => {
        if (tunnel === undefined) direct(target, callback);
        else if (target.protocol === 'https:') overTunnel({ ...target, httpSocket: tunnel }, callback);
        else callback(null, tunnel);
      },
      (error: Error) => {
        if (error instanceof DeliveryError && error.code === 'PROXY_FAILED') complain(error);
        callback(error, null);
      },
    );
  };

  /** Undefined when none is needed. The addresses are tried one after the other. */
  async function openTunnel(target: buildConnector.Options): Promise<Socket | undefined> {
    const addresses = await resolveHost(target.hostname);
    if (addresses.some(({ address }) => judgeAddress(address, everyones) === 'blocked')) return undefined;
    const port = target.port === '' ? (target.protocol === 'https:' ? '443' : '80') : target.port;
    const signal = AbortSignal.timeout(timeoutMs);
    let failure: unknown;
    for (const { address } of addresses) {
      try {
        return await tunnelTo(isIPv6(address) ? `[${address}]:${port}` : `${address}:${port}`, proxy, signal);
      } catch (error) {
        failure = error;
      }
    }
    throw failure;
  }

  /** Such a fault is everyone's: said once in a while, not once for each delivery. */
  function complain(error: DeliveryError): void {
    if (performance.now() - complainedAt < COMPLAIN_MS) return;
    complainedAt = performance.now();
    log.error({ err: error }, 'outgoing_proxy.failed');
  }
}

function tunnelTo(authority: string, proxy: URL, signal: AbortSignal): Promise<Socket> {
  const request = proxy.protocol === 'https:' ? requestHttps : requestHttp;
  return new Promise((resolve, reject) => {
    const asking = request({
      hostname: proxy.hostname.replace(/^\[|\]$/g, ''),
      port: proxy.port,
      method: 'CONNECT',
      path: authority,
      headers: { host: authority, ...credentialsOf(proxy) },
      agent: false,
      rejectUnauthorized: true,
      signal,
    });
    asking.once('connect', ({ statusCode = 0 }, socket: Socket, head) => {
      if (statusCode >= 200 && statusCode < 300) {
        if (head.length > 0) socket.unshift(head);
        resolve(socket);
      } else {
        socket.destroy();
        reject(refusal(statusCode));
      }
    });
    asking.on('error', (cause) =>
      reject(
        signal.aborted
          ? new DeliveryError('DELIVERY_TIMEOUT', 'the outgoing proxy opened no tunnel in time', { cause })
          : new DeliveryError('PROXY_FAILED', 'the outgoing proxy cannot be reached', { cause }),
      ),
    );
    asking.end();
  });
}

/** 5xx tells of the receiver, anything else of what the proxy lets this service do. */
function refusal(status: number): DeliveryError {
  if (status === 504) return new DeliveryError('DELIVERY_TIMEOUT', 'the outgoing proxy waited in vain');
  if (status >= 500) return new DeliveryError('TUNNEL_FAILED', 'the outgoing proxy could not connect');
  return new DeliveryError('PROXY_FAILED', `the outgoing proxy refused a tunnel with ${status}`);
}

function credentialsOf({ username, password }: URL): Record<string, string> {
  if (username === '') return {};
  const credentials = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
  return { 'proxy-authorization': `Basic ${Buffer.from(credentials).toString('base64')}` };
}
