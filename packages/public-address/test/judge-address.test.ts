import { describe, expect, test } from '@jest/globals';
import { judgeAddress, parseNetwork } from '../src/index.ts';

const judge = (ip: string, rules: 'public' | 'sandbox' = 'public', networks: string[] = []) =>
  judgeAddress(ip, { rules, allowedNetworks: networks.map((text) => parseNetwork(text)!) });

const publicAddresses = [
  '1.1.1.1',
  '93.184.216.34',
  '100.63.255.255',
  '100.128.0.0',
  '172.15.255.255',
  '172.32.0.0',
  '192.167.255.255',
  '198.17.255.255',
  '223.255.255.255',
  '2606:4700:4700::1111',
  '2001:4860:4860::8888',
  '2a00:1450:4001:80e::200e',
];

const loopback = ['127.0.0.1', '127.255.255.254', '::1', '0:0:0:0:0:0:0:1'];

const neverPublic = [
  // this network, private, shared, link-local (cloud metadata among them)
  '0.0.0.0',
  '0.1.2.3',
  '10.0.0.1',
  '10.255.255.255',
  '172.16.0.1',
  '172.31.255.255',
  '192.168.1.1',
  '100.64.0.1',
  '100.100.100.200',
  '169.254.169.254',
  '168.63.129.16',
  // protocol assignments, documentation, benchmarking, multicast, reserved, broadcast
  '192.0.0.192',
  '192.0.2.1',
  '198.18.0.1',
  '198.19.255.255',
  '198.51.100.1',
  '203.0.113.1',
  '192.88.99.1',
  '224.0.0.1',
  '239.255.255.255',
  '240.0.0.1',
  '255.255.255.255',
  // IPv6: unspecified, local, unique local (cloud metadata), multicast, documentation, discard
  '::',
  'fe80::1',
  'febf::1',
  'fec0::1',
  'fc00::1',
  'fd00:ec2::254',
  'ff02::1',
  '2001:db8::1',
  '3fff::1',
  '100::1',
  '5f00::1',
  // forms that carry an IPv4 address, even a public one
  '::ffff:1.1.1.1',
  '::ffff:127.0.0.1',
  '::ffff:7f00:1',
  '::1.1.1.1',
  '::127.0.0.1',
  '::ffff:0:1.1.1.1',
  '64:ff9b::1.1.1.1',
  '64:ff9b:1::1.1.1.1',
  '2002:0101:0101::1',
  '2002:7f00:1::',
  '2001:0:101:101::1',
  // assigned to nobody
  '4000::1',
  '8000::1',
  '1::1',
];

const noAddresses = [
  '',
  'localhost',
  'example.com',
  '127.1',
  '0177.0.0.1',
  '0x7f.0.0.1',
  '2130706433',
  '1.1.1.1 ',
  '1.1.1.1:443',
  '[::1]',
  '2606:4700::1%eth0',
  '1.1.1.1/32',
];

describe('under the public rules', () => {
  test.each(publicAddresses)('%s is allowed', (ip) => {
    expect(judge(ip)).toBe('allowed');
  });
  test.each([...loopback, ...neverPublic, ...noAddresses])('%j is blocked', (ip) => {
    expect(judge(ip)).toBe('blocked');
  });
});

describe("under the sandbox's rules", () => {
  test.each([...publicAddresses, ...loopback])('%s is allowed', (ip) => {
    expect(judge(ip, 'sandbox')).toBe('allowed');
  });
  test.each([...neverPublic, ...noAddresses])('%j is blocked', (ip) => {
    expect(judge(ip, 'sandbox')).toBe('blocked');
  });
});

describe('allowed networks', () => {
  test('open their own addresses and nothing beside them', () => {
    const networks = ['10.20.0.0/16', 'fd00:20::/32'];
    expect(judge('10.20.255.255', 'public', networks)).toBe('allowed');
    expect(judge('fd00:20:1::1', 'public', networks)).toBe('allowed');
    expect(judge('10.21.0.0', 'public', networks)).toBe('blocked');
    expect(judge('fd00:21::1', 'public', networks)).toBe('blocked');
  });
  test('of IPv4 do not open the forms of IPv6 that carry their addresses', () => {
    expect(judge('::ffff:10.20.0.1', 'public', ['10.20.0.0/16'])).toBe('blocked');
    expect(judge('::ffff:10.20.0.1', 'public', ['0.0.0.0/0'])).toBe('blocked');
  });
  test('may be a single address', () => {
    expect(judge('10.20.0.1', 'public', ['10.20.0.1/32'])).toBe('allowed');
    expect(judge('10.20.0.2', 'public', ['10.20.0.1/32'])).toBe('blocked');
  });
  test('do not close what the rules open', () => {
    expect(judge('1.1.1.1', 'public', ['10.20.0.0/16'])).toBe('allowed');
  });
});

describe('parseNetwork', () => {
  test.each(['10.0.0.0/8', '0.0.0.0/0', '192.0.2.1/32', 'fd00::/8', '::/0', '2001:db8::1/128'])(
    'reads %s',
    (text) => expect(parseNetwork(text)).toBeDefined(),
  );
  test.each([
    '',
    '10.0.0.0',
    '10.0.0.0/',
    '10.0.0.0/33',
    '10.0.0.0/-1',
    '10.0.0.0/8/8',
    '10/8',
    '010.0.0.0/8',
    'fd00::/129',
    'fe80::1%eth0/64',
    'example.com/8',
    ' 10.0.0.0/8',
    '10.0.0.0/1e1',
  ])('refuses %j', (text) => expect(parseNetwork(text)).toBeUndefined());
});
