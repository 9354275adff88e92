import { judgeAddress, type AddressPolicy } from '@assistance/public-address';

export interface UrlFault {
  code: 'invalid_url' | 'scheme_not_allowed' | 'host_not_allowed';
  message: string;
}

/** Names that only mean something inside a network, or nothing at all. */
const privateSuffixes =
  /\.(localhost|local|localdomain|internal|intranet|lan|home|corp|svc|arpa|invalid|onion)$/;
const authorityOf = /^(https?):\/\/([^/?#]+)/i;

/**
 * What is wrong with a callback's address, or undefined (interface-details 3). Judged without DNS: an IP literal, however
 * it is spelt, by its address; a name by its form. What a name resolves to is judged at each attempt, by the dispatcher.
 *
 * @param text at most 2 048 characters
 */
export function judgeCallbackUrl(text: string, policy: AddressPolicy): UrlFault | undefined {
  if (/[\p{White_Space}\p{C}]/u.test(text))
    return invalid('must not contain white space or control characters');
  // Parsers read a backslash as a slash, so what looks like one host can be another.
  if (text.includes('\\')) return invalid('must not contain a backslash');
  if (text.includes('#')) return invalid('must not have a fragment');
  const [, scheme, authority] = authorityOf.exec(text) ?? [];
  if (scheme === undefined || authority === undefined || !URL.canParse(text)) {
    return invalid(`must be an absolute address such as https://example.com/events`);
  }
  if (authority.includes('@')) return invalid('must not have a user name or password');
  if (scheme.toLowerCase() !== 'https' && policy.rules !== 'sandbox') {
    return { code: 'scheme_not_allowed', message: 'must begin with https://' };
  }
  const { hostname, port } = new URL(text);
  if (port === '0') return invalid('must not name port 0');
  return judgeHost(hostname.replace(/\.$/, ''), policy);
}

/** @param host as the URL parser normalized it: IPv4 in four decimal parts, IPv6 in brackets, names in lower-case ASCII */
function judgeHost(host: string, policy: AddressPolicy): UrlFault | undefined {
  const address = host.startsWith('[') ? host.slice(1, -1) : /^\d+(\.\d+){3}$/.test(host) ? host : undefined;
  if (address !== undefined) {
    return judgeAddress(address, policy) === 'allowed'
      ? undefined
      : notAllowed('must not be a private or reserved address');
  }
  if (host === 'localhost' && policy.rules === 'sandbox') return undefined;
  const labels = host.split('.');
  if (host.length > 253 || labels.some((label) => label === '' || label.length > 63)) {
    return invalid('must name a host that DNS can know');
  }
  if (labels.length === 1 || privateSuffixes.test(host)) {
    return notAllowed('must name a host of the public internet');
  }
  return undefined;
}

const invalid = (message: string): UrlFault => ({ code: 'invalid_url', message });
const notAllowed = (message: string): UrlFault => ({ code: 'host_not_allowed', message });
