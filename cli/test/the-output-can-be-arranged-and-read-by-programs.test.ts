import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { readCommands } from '../../sdk/commands.ts';
import { zoneFile } from '../output/dns.ts';
import { yaml } from '../output/yaml.ts';
import { formatted } from '../print.ts';
import { runHere } from './cli-context.ts';
import { now, sampleAnswer } from './samples.ts';
import { recording } from './support.ts';

const look = { width: undefined, color: false, unicode: true, now };
const { commands } = readCommands();
const commandOf = (operation: string) => commands.find((command) => command.operation === operation)!;
const draw = (operation: string, output: string) => formatted(sampleAnswer(operation), commandOf(operation), output, look);

test('-o json is the answer as the contract has it, for every command', () => {
  for (const { operation, silent, streams } of commands)
    if (!silent && !streams) assert.equal(draw(operation, 'json'), `${JSON.stringify(sampleAnswer(operation), null, 2)}\n`);
});

test('-o name says what further commands take, one a line', () => {
  const id = (prefix: string, n: number) => `${prefix}_01kyq4mzt${n}8xw3v7r2hj5bn0c6`;
  assert.equal(draw('listMessages', 'name'), `${[0, 1, 2].map((n) => id('msg', n)).join('\n')}\n`);
  assert.equal(draw('listClusters', 'name'), 'web\ncheckout\nbilling-worker\n');
  assert.equal(draw('getMessage', 'name'), `${id('msg', 0)}\n`);
  assert.equal(draw('listAudit', 'name').split('\n').length, 4);
  assert.throws(() => draw('getClusterKubeconfig', 'name'), /the answer has no name/);
});

test('columns and order are chosen by field or by title', async (t) => {
  const tokens = [
    { id: 'tok_2', name: 'b', createdAt: '2026-01-02T00:00:00.000Z', enabled: true, scope: [] },
    { id: 'tok_10', name: 'a', createdAt: '2026-01-01T00:00:00.000Z', enabled: false, scope: [] },
    { id: 'tok_1', name: 'c', createdAt: '2026-01-03T00:00:00.000Z', enabled: true, scope: [], expiresAt: '2026-01-01T00:00:00.000Z' },
  ];
  const { url } = await recording(t, (response) =>
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ tokens })),
  );
  const list = (...args: string[]) =>
    runHere(['tokens', 'list', ...args], { env: { QUARTERDECK_URL: url, QUARTERDECK_TOKEN: 'qd_pat_x' } });
  const names = async (sort: string) => (await list('--sort', sort, '--only', 'name')).stdout.replaceAll('\n', '');

  assert.equal(
    (await list('--columns', 'name,enabled,id')).stdout,
    'NAME  ENABLED  ID\nb     yes      tok_2\na     no       tok_10\nc     yes      tok_1\n',
  );
  assert.match((await list('--columns', 'name,orgSlug,last-used')).stdout, /^NAME +ORG SLUG +LAST USED\n/);
  assert.match((await list('-o', 'wide')).stdout, /^ID +NAME +.+ START +AGE +MINTED BY\n/);
  assert.deepEqual(
    [await names('name'), await names('-name'), await names('id'), await names('createdAt'), await names('age'), await names('-age')],
    ['abc', 'cba', 'cba', 'abc', 'cba', 'abc'],
  );
  assert.deepEqual([await names('expiresAt'), await names('-expiresAt')], ['cba', 'cba']);
  assert.deepEqual(
    JSON.parse((await list('-o', 'json', '--sort', 'name')).stdout).tokens.map(({ id }: { id: string }) => id),
    ['tok_10', 'tok_2', 'tok_1'],
  );

  for (const args of [
    ['--columns', 'nope'],
    ['--sort', '-nope'],
  ]) {
    const refused = await list(...args);
    assert.deepEqual([refused.code, refused.stdout], [2, '']);
    assert.match(refused.stderr, /^quarterdeck: there is no column "nope".*; there are id, name, enabled, /);
  }
  assert.equal((await list('-o', 'zone')).code, 2);
  assert.equal((await list('-o', 'yaml', '--json')).code, 2);
});

test('the records of a domain are a zone file', () => {
  const zone = draw('getDomain', 'zone');
  const [dkim, mx, spf] = zone.split('\n');
  assert.equal(mx, 'bounce.mail.example.com.\t3600\tIN\tMX\t10 mx.quarterdeck.example.');
  assert.equal(spf, 'bounce.mail.example.com.\t3600\tIN\tTXT\t"v=spf1 a:mx.quarterdeck.example ~all"');
  const strings = [...dkim!.matchAll(/"([^"]*)"/g)].map(([, text]) => text!);
  assert.deepEqual(strings.map((text) => text.length).slice(0, -1), [255]);
  const [{ value }] = sampleAnswer('getDomain')['dnsRecords'] as [{ value: string }];
  assert.equal(strings.join(''), value);
  assert.match(draw('getDomainDns', 'zone'), /"v=spf1 a:mx\.quarterdeck\.example ~all" ; mismatch\n/);
  assert.equal(draw('listDomains', 'zone').split('\n').length, 3 * 3 + 1);
  assert.throws(() => draw('listTokens', 'zone'), /the answer has no DNS records/);
});

test('no value leaves its line of the zone file, and each is read back as it was', () => {
  const readStrings = (text: string) =>
    Buffer.concat(
      [...text.matchAll(/"((?:[^"\\]|\\.)*)"/g)].map(([, inside]) =>
        Buffer.from(
          inside!.replaceAll(/\\(\d{3})|\\(.)/g, (_, code, plain) => plain ?? String.fromCharCode(Number(code))),
          'latin1',
        ),
      ),
    ).toString();
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme', maxLength: 600 }), fc.string({ unit: 'grapheme' }), (value, name) => {
      const text = zoneFile([{ type: 'TXT', name, value }]);
      assert.match(text, /^[\x20-\x7e\t]+\n$/);
      assert.equal(readStrings(text.slice(text.indexOf('TXT'))), value);
      for (const type of ['MX', 'CNAME'])
        assert.match(zoneFile([{ type, name, value }]), /^[A-Za-z0-9._*\\-]+\t3600\tIN\t\w+\t[A-Za-z0-9._*\\ -]+\n$/);
    }),
  );
});

test('YAML says what JSON says', async () => {
  assert.equal(
    yaml({
      id: 'x',
      on: 'yes',
      n: '12',
      list: [],
      things: [{ a: 1, b: [true, null] }, 'text'],
      config: 'a: 1\nb: 2\n',
      at: '2026-01-01',
      'a: b': '# no',
    }),
    `id: x
"on": "yes"
"n": "12"
list: []
things:
  - a: 1
    b:
      - true
      - null
  - text
config: |
  a: 1
  b: 2
at: "2026-01-01"
"a: b": "# no"
`,
  );
});

test('a text of several lines stays inside its value, whatever stands at its ends', () => {
  for (const text of ['\u0085injected: true\nx', '\u001bx\ny', 'x\ny\u202e'])
    assert.match(yaml({ name: text, next: 'ok' }), /^name: "[\x20-\x7e]*"\nnext: ok\n$/);
});

test('a reader of YAML, of either version, reads back what was written', async (t) => {
  const reader: string = 'yaml';
  const { parse } = await import(reader).catch(() => ({ parse: undefined }));
  if (!parse) return t.skip('no reader of YAML is installed');
  const same = (value: unknown) => {
    for (const version of ['1.1', '1.2']) assert.deepEqual(parse(yaml(value), { version }), value, yaml(value));
  };
  for (const { operation, silent, streams } of commands) if (!silent && !streams) same(JSON.parse(JSON.stringify(sampleAnswer(operation))));
  const tricky = fc.constantFrom(
    '',
    ' ',
    '-',
    '- a',
    '? a',
    ': ',
    'a: b',
    '#',
    'a #b',
    '1e3',
    '0x1f',
    '012',
    '1_000',
    '.5',
    '1:30',
    '~',
    'Null',
    'NO',
    '!x',
    '&a',
    '*a',
    '|',
    '>',
    '%',
    '@',
    '`',
    '[',
    '{',
    'a\n',
    'a\n\n',
    '\na',
    ' a\nb',
    'a\n b',
    'a \nb',
    'a\n\nb',
    '\t',
    'a\tb\nc',
    '---',
    '...',
    '<<',
    '=',
    '\u0085',
    '\u2028',
    '\ufeff',
    '"',
    "'",
    '\\',
    'é',
    'true ',
    'a  b',
    '/',
    '_1',
  );
  const text = fc.oneof(
    tricky,
    fc.string({ unit: 'grapheme' }),
    fc.array(tricky, { maxLength: 4 }).map((all) => all.join('')),
  );
  const { value } = fc.letrec((tie) => ({
    value: fc.oneof(
      { maxDepth: 3 },
      text,
      fc.integer(),
      fc.double({ noNaN: true, noDefaultInfinity: true }).map((n) => (Object.is(n, -0) ? 0 : n)),
      fc.boolean(),
      fc.constant(null),
      fc.array(tie('value'), { maxLength: 3 }),
      fc.dictionary(
        text.filter((key) => key !== '__proto__' && key !== '<<'),
        tie('value'),
        { maxKeys: 3, noNullPrototype: true },
      ),
    ),
  }));
  fc.assert(fc.property(value, same), { numRuns: 500 });
});
