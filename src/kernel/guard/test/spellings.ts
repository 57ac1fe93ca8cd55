/** Addresses that users must not reach through the guard, in every known spelling. */

export const forbiddenV4 = [
  ...['0.0.0.0', '0.0.0.1', '0.255.255.255', '10.0.0.1', '10.255.255.255', '100.64.0.1', '100.127.255.255', '127.0.0.1'],
  ...['127.1.2.3', '127.255.255.255', '169.254.0.1', '169.254.169.254', '169.254.170.2', '172.16.0.1', '172.31.255.255', '192.168.0.1'],
  ...['192.168.255.255', '100.100.100.200', '168.63.129.16', '192.0.0.1', '192.0.0.192', '192.0.2.1', '192.88.99.1', '192.31.196.1'],
  ...['192.52.193.1', '192.175.48.1', '198.18.0.1', '198.19.255.255', '198.51.100.1', '203.0.113.1', '224.0.0.1', '239.255.255.255'],
  ...['240.0.0.1', '255.255.255.254', '255.255.255.255'],
];

export const forbiddenV6 = [
  ...['::', '::1', '0:0:0:0:0:0:0:1', '::0001', '::7f00:1', '::127.0.0.1', '::8.8.8.8', '::ffff:0:7f00:1', '::ffff:0:127.0.0.1'],
  ...['fe80::1', 'fe80::a9fe:a9fe', 'febf::1', 'fec0::1', 'feff::1', 'fc00::1', 'fd00:ec2::254', 'fd20:ce::254', 'fdff:ffff::1'],
  ...['ff02::1', 'ff0e::1', '100::1', '100:0:0:1::1', '2001::1', '2001:0:4136:e378:8000:63bf:3fff:fdd2', '2001:2::1', '2001:10::1'],
  ...['2001:20::1', '2001:30::1', '2001:db8::1', '2001:DB8:0:0::1', '3fff::1', '3ffe::1', '2002::1', '2002:808:808::1', '2620:4f:8000::1'],
  ...[
    '2001:4:112::1',
    '2001:3::1',
    '2001:1::1',
    '64:ff9b::808:808',
    '64:ff9b:1::1',
    '5f00::1',
    '1::1',
    '200::1',
    '4000::1',
    '8000::1',
    'e000::1',
  ],
];

const octets = (address: string) => address.split('.').map(Number) as [number, number, number, number];
const hexadecimal = (value: number, width = 0) => value.toString(16).padStart(width, '0');
const digitsFrom = (zero: number) => (text: string) => text.replace(/\d/g, (digit) => String.fromCodePoint(zero + Number(digit)));
const fullWidth = digitsFrom(0xff10);
const mathematical = digitsFrom(0x1d7d8);
const encoded = (text: string) => [...text].map((character) => `%${character.charCodeAt(0).toString(16)}`).join('');

/** The same IPv4 address, as inet_aton, browsers and Unicode would have it. `url` ones cannot be written without a URL. */
export const v4Spellings: Record<string, (address: string) => string> = {
  plain: (address) => address,
  'one decimal number': (address) => String(octets(address).reduce((sum, octet) => sum * 256 + octet, 0)),
  'one hexadecimal number': (address) =>
    `0x${octets(address)
      .map((octet) => hexadecimal(octet, 2))
      .join('')}`,
  'one octal number': (address) =>
    `0${octets(address)
      .reduce((sum, octet) => sum * 256 + octet, 0)
      .toString(8)}`,
  'hexadecimal octets': (address) =>
    octets(address)
      .map((octet) => `0x${hexadecimal(octet)}`)
      .join('.'),
  'upper-case hexadecimal octets': (address) =>
    octets(address)
      .map((octet) => `0X${hexadecimal(octet).toUpperCase()}`)
      .join('.'),
  'octal octets': (address) =>
    octets(address)
      .map((octet) => `0${octet.toString(8)}`)
      .join('.'),
  'octal octets with many zeros': (address) =>
    octets(address)
      .map((octet) => `00000${octet.toString(8)}`)
      .join('.'),
  'mixed bases': (address) =>
    octets(address)
      .map((octet, at) => (at % 2 === 0 ? `0x${hexadecimal(octet)}` : `0${octet.toString(8)}`))
      .join('.'),
  'two parts': (address) => {
    const [a, b, c, d] = octets(address);
    return `${a}.${b * 65536 + c * 256 + d}`;
  },
  'three parts': (address) => {
    const [a, b, c, d] = octets(address);
    return `${a}.${b}.${c * 256 + d}`;
  },
  'a trailing dot': (address) => `${address}.`,
  'full-width digits': (address) => fullWidth(address),
  'full-width digits and stops': (address) => fullWidth(address).replaceAll('.', '．'),
  'ideographic stops': (address) => address.replaceAll('.', '。'),
  'half-width ideographic stops': (address) => address.replaceAll('.', '｡'),
  'mathematical digits': (address) => mathematical(address),
  'a soft hyphen inside': (address) => `${address.slice(0, 2)}\u00ad${address.slice(2)}`,
  'a zero-width space inside': (address) => `${address.slice(0, 2)}\u200b${address.slice(2)}`,
  'percent-encoded': (address) => encoded(address),
};

const pair = (address: string) => {
  const [a, b, c, d] = octets(address);
  return [hexadecimal(a * 256 + b), hexadecimal(c * 256 + d)] as const;
};

/** The same IPv4 address inside an IPv6 one. */
export const v6Spellings: Record<string, (address: string) => string> = {
  'mapped, dotted': (address) => `::ffff:${address}`,
  'mapped, hexadecimal': (address) => `::ffff:${pair(address).join(':')}`,
  'mapped, written out': (address) => `0:0:0:0:0:ffff:${pair(address).join(':')}`,
  'mapped, upper case': (address) => `0000:0000:0000:0000:0000:FFFF:${pair(address).join(':').toUpperCase()}`,
  'compatible, dotted': (address) => `::${address}`,
  'compatible, hexadecimal': (address) => `0:0:0:0:0:0:${pair(address).join(':')}`,
  translated: (address) => `::ffff:0:${address}`,
  NAT64: (address) => `64:ff9b::${address}`,
  'NAT64, hexadecimal': (address) => `64:ff9b::${pair(address).join(':')}`,
  'NAT64, local use': (address) => `64:ff9b:1::${address}`,
  '6to4': (address) => `2002:${pair(address).join(':')}::1`,
  Teredo: (address) => {
    const [high, low] = pair(
      octets(address)
        .map((octet) => octet ^ 0xff)
        .join('.'),
    );
    return `2001:0:808:808:0:3fff:${high}:${low}`;
  },
  ISATAP: (address) => `2a00:1450:4001:800:0:5efe:${address}`,
  'ISATAP, universal bit': (address) => `2a00:1450:4001:800:200:5efe:${address}`,
};

/** Hosts that are no spelling of one address but still must be refused. Their resolver, where one is used, answers 127.0.0.1. */
export const trickHosts = [
  ...['localhost', 'LOCALHOST', 'localhost.', 'LocalHost.', 'a.localhost', 'a.b.localhost.', 'ｌocalhost', 'ℓocalhost', 'loc\u200balhost'],
  ...['localhost\u3002', 'ⓛⓞⓒⓐⓛⓗⓞⓢⓣ', 'loc%61lhost', 'localhost%00', 'localhost%2e', 'localhost%20', 'localhost%0d%0a'],
  ...['127.0.0.1.example.org', 'www.127-0-0-1.example.org', 'metadata.google.internal', 'metadata', 'instance-data.ec2.internal', 'db'],
  ...[
    '127.0.0.1..',
    '127.0.0.1...',
    '.127.0.0.1',
    '127..0.0.1',
    '127.0.0.1.0',
    '127.0.0.1.0x',
    '1.2.3.4.5',
    '256.0.0.1',
    '127.0.0.256',
    '127.0.0.08',
  ],
  ...[
    '4294967296',
    '0x100000000',
    '040000000000',
    '99999999999999999999',
    '-1',
    '127.0.0.-1',
    '127.0.0.1e0',
    '0x7g.0.0.1',
    '0b1111111.0.0.1',
  ],
  ...['', '.', '..', ' ', '%', '%00', '*', '+127.0.0.1', '127.0.0.1,8.8.8.8', '127.0.0.1 8.8.8.8', '8.8.8.8\t127.0.0.1', 'a b', 'a_b..c'],
  ...[
    '[127.0.0.1]',
    '[]',
    '[::1',
    '::1]',
    '[::1].',
    '[[::1]]',
    '[::1%25lo]',
    '[::1%lo]',
    '[fe80::1%25eth0]',
    '[fe80::1%eth0]',
    'fe80::1%1',
  ],
  ...[
    '[::ffff:127.0.0.1%25lo]',
    '[::ffff:0177.0.0.1]',
    '[::ffff:0x7f.0.0.1]',
    '[::ffff:127.1]',
    '[::ffff:２.0.0.1]',
    '[v1.fe80::a]',
    '[0:0:0:0:0:0:0:0:1]',
  ],
  ...['٣.٠.٠.١', '१२७.0.0.1', 'xn--', 'a'.repeat(64), `${'a.'.repeat(127)}a`, '127。0。0。1。。', '127.0.0.1\u0000', '127.0.0.1#@8.8.8.8'],
];

/** Whole URLs that smuggle their host past other parsers. */
export const trickUrls = [
  ...['http:127.0.0.1', 'http:/127.0.0.1', 'http:///127.0.0.1', 'http:////127.0.0.1/', 'http:\\\\127.0.0.1\\', 'http:/\\127.0.0.1'],
  ...[
    'ht\ttp://127.0.0.1/',
    'http://127.0.\n0.1/',
    '\u0000 http://127.0.0.1',
    'http://127.0.0.1 ',
    'HTTP://127.0.0.1',
    'http://127.0.0.1:80/',
  ],
  ...['http://8.8.8.8@127.0.0.1/', 'http://8.8.8.8:80@127.0.0.1/', 'http://user:pass@8.8.8.8/', 'http://user@8.8.8.8/'],
  ...[
    'http://127.0.0.1\\@8.8.8.8/',
    'http://127.0.0.1?@8.8.8.8/',
    'http://127.0.0.1#@8.8.8.8/',
    'http://127.0.0.1;8.8.8.8/',
    'http://[::1]:80/',
    'http://[::]:80/',
  ],
  ...[
    'http://8.8.8.8:0/',
    'http://8.8.8.8:65536/',
    'http://8.8.8.8:-1/',
    'http://8.8.8.8:8o/',
    'http://8.8.8.8:80:80/',
    'http://127.0.0.1:0x50/',
    'http://',
    'http://:80/',
  ],
  ...[
    'file:///etc/passwd',
    'ftp://8.8.8.8/',
    'gopher://8.8.8.8:6379/_x',
    'data:text/plain,x',
    'javascript:1',
    'ws://8.8.8.8/',
    'blob:http://8.8.8.8/x',
    'unix:/run/docker.sock',
  ],
  ...[
    'http+unix://%2Frun%2Fdocker.sock/',
    'jar:http://8.8.8.8!/',
    'ldap://127.0.0.1/',
    'view-source:http://127.0.0.1/',
    '//127.0.0.1/',
    '/etc/passwd',
    'localhost:8080',
    '',
  ],
];

const bracketed = (address: string) => `[${address}]`;
const everySpelling = (spellings: Record<string, (address: string) => string>) =>
  Object.values(spellings).flatMap((spell) => forbiddenV4.map(spell));

/** Every host of this file that is an address, as it stands in a URL. */
export const literalHosts = [
  ...new Set([...everySpelling(v4Spellings), ...[...everySpelling(v6Spellings), ...forbiddenV6].map(bracketed)]),
];
