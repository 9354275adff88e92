import { describe, expect, test } from '@jest/globals';
import { parseNetwork } from '@assistance/public-address';
import { judgeCallbackUrl } from '../src/subscriptions/judge-callback-url.ts';

const judge = (url: string, rules: 'public' | 'sandbox' = 'public', networks: string[] = []) =>
  judgeCallbackUrl(url, { rules, allowedNetworks: networks.map((text) => parseNetwork(text)!) })?.code;

const good = [
  'https://example.com',
  'https://example.com/',
  'https://example.com/hooks/a?b=c&d=%20e',
  'https://example.com:8443/hooks',
  'https://sub.domain.example.co.uk/hooks',
  'https://example.com./hooks',
  'HTTPS://EXAMPLE.COM/hooks',
  'https://xn--mnchen-3ya.example/hooks',
  'https://münchen.example/hooks',
  'https://under_score.example.com/hooks',
  'https://1.1.1.1/hooks',
  'https://[2606:4700:4700::1111]/hooks',
  'https://example.com/a@b',
  'https://example.com/?to=a@b',
  'https://localhost.example.com/',
  'https://internal.example.com/',
  'https://mylocal.example/',
];

const malformed = [
  'example.com/hooks',
  '//example.com/hooks',
  '/hooks',
  'https:example.com',
  'https:/example.com',
  'https://',
  'https:///example.com/hooks',
  'https://?x',
  'https://example.com:99999/',
  'https://example.com:0/',
  'https://example.com:port/',
  'https://exa mple.com/',
  ' https://example.com/',
  'https://example.com/ ',
  'https://example.com/a b',
  'https://example.com/\t',
  'https://exam\nple.com/',
  'https://example.com/\u0000',
  'https://example.com/\u0007',
  'https://example.com/\u00a0',
  'https://example.com/\u200b',
  'https://example.com/\u2028',
  'https://example.com/#',
  'https://example.com/#part',
  'https://user@example.com/',
  'https://user:secret@example.com/',
  'https://:@example.com/',
  'https://@example.com/',
  'https://example.com\\@evil.example/',
  'https:\\\\example.com\\hooks',
  'https://[::1/',
  'https://[fe80::1%25eth0]/',
  'https://1.2.3.4.5/',
  'https://256.1.1.1/',
  'https://a..example.com/',
  'https://example.com../',
  `https://${'a'.repeat(64)}.example.com/`,
  `https://${'abcdefghi.'.repeat(26)}com/`,
  'javascript:alert(1)',
  'data:text/plain,x',
  'file:///etc/passwd',
  'ftp://example.com/',
  'ws://example.com/',
  'mailto:a@example.com',
];

const localNames = [
  'https://localhost/',
  'https://LOCALHOST/',
  'https://localhost./',
  'https://localhost:8443/',
];

const loopbackSpellings = [
  'https://127.0.0.1/',
  'https://127.1/',
  'https://127.0.1/',
  'https://2130706433/',
  'https://0x7f000001/',
  'https://0x7f.0.0.1/',
  'https://0177.0.0.1/',
  'https://017700000001/',
  'https://127.0.0.1./',
  'https://127.255.255.254/',
  'https://127%2e0%2e0%2e1/',
  'https://１２７.０.０.１/',
  'https://127。0。0。1/',
  'https://[::1]/',
  'https://[0:0:0:0:0:0:0:1]/',
  'https://[0000::0001]/',
];

const neverAllowed = [
  'https://0/',
  'https://0.0.0.0/',
  'https://10.0.0.1/',
  'https://0xa.1/',
  'https://012.0.0.1/',
  'https://167772161/',
  'https://172.16.0.1/',
  'https://192.168.1.1/',
  'https://192.168.257/',
  'https://100.64.0.1/',
  'https://169.254.169.254/latest/meta-data/',
  'https://2852039166/',
  'https://198.18.0.1/',
  'https://192.0.2.1/',
  'https://224.0.0.1/',
  'https://255.255.255.255/',
  'https://[::]/',
  'https://[fe80::1]/',
  'https://[fc00::1]/',
  'https://[fd00:ec2::254]/',
  'https://[ff02::1]/',
  'https://[2001:db8::1]/',
  // forms that carry an IPv4 address, even a public one
  'https://[::ffff:127.0.0.1]/',
  'https://[::ffff:7f00:1]/',
  'https://[::ffff:1.1.1.1]/',
  'https://[::127.0.0.1]/',
  'https://[64:ff9b::7f00:1]/',
  'https://[2002:7f00:1::]/',
  'https://[2001:0:101:101::1]/',
  // names that mean something only inside a network, or nothing
  'https://intranet/',
  'https://hooks./',
  'https://app.localhost/',
  'https://printer.local/',
  'https://PRINTER.LOCAL./',
  'https://host.localdomain/',
  'https://metadata.google.internal/',
  'https://wiki.intranet/',
  'https://nas.lan/',
  'https://router.home/',
  'https://mail.corp/',
  'https://api.default.svc/',
  'https://1.0.0.127.in-addr.arpa/',
  'https://home.arpa/',
  'https://nothing.invalid/',
  'https://hidden.onion/',
];

describe('under the public rules', () => {
  test.each(good)('%j is allowed', (url) => expect(judge(url)).toBeUndefined());
  test.each(malformed)('%j is no such address', (url) => expect(judge(url)).toBe('invalid_url'));
  test.each([...localNames, ...loopbackSpellings, ...neverAllowed])(
    '%j is a host that is not allowed',
    (url) => expect(judge(url)).toBe('host_not_allowed'),
  );
  test.each(['http://example.com/hooks', 'HTTP://1.1.1.1/', 'http://localhost/'])('%j lacks https', (url) =>
    expect(judge(url)).toBe('scheme_not_allowed'),
  );
});

describe("under the sandbox's rules", () => {
  const withHttp = (url: string) => url.replace(/^https/i, 'http');
  test.each([...good, ...localNames, ...loopbackSpellings])('%j is allowed, with http too', (url) => {
    expect(judge(url, 'sandbox')).toBeUndefined();
    expect(judge(withHttp(url), 'sandbox')).toBeUndefined();
  });
  test.each(malformed)('%j is no such address', (url) => expect(judge(url, 'sandbox')).toBe('invalid_url'));
  test.each(neverAllowed)('%j is a host that is not allowed, with http neither', (url) => {
    expect(judge(url, 'sandbox')).toBe('host_not_allowed');
    expect(judge(withHttp(url), 'sandbox')).toBe('host_not_allowed');
  });
});

describe('networks that an agency allows', () => {
  const networks = ['10.20.0.0/16', 'fd00:20::/32'];
  test.each(['https://10.20.0.1/', 'https://0x0a140001/', 'https://[fd00:20::1]/'])('open %j', (url) =>
    expect(judge(url, 'public', networks)).toBeUndefined(),
  );
  test.each([
    'https://10.21.0.1/',
    'https://[fd00:21::1]/',
    'https://[::ffff:10.20.0.1]/',
    'https://localhost/',
  ])('do not open %j', (url) => expect(judge(url, 'public', networks)).toBe('host_not_allowed'));
  test('do not open http', () =>
    expect(judge('http://10.20.0.1/', 'public', networks)).toBe('scheme_not_allowed'));
});

test('what is wrong is said in a handful of fixed sentences, so that no address is ever repeated', () => {
  const policy = { rules: 'public', allowedNetworks: [] } as const;
  const said = [...malformed, ...localNames, ...loopbackSpellings, ...neverAllowed].map(
    (url) => judgeCallbackUrl(url, policy)?.message,
  );
  for (const message of said) expect(message).toMatch(/^must /);
  expect(new Set(said).size).toBeLessThanOrEqual(9);
});
