import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ApiError } from '../../status.ts';
import { readSelector } from '../rules/selectors.ts';

const nodes = { kind: 'Node', group: '' };

const refused = (labels: string, fields: string) => {
  try {
    readSelector(labels, fields, nodes);
  } catch (error) {
    assert.ok(error instanceof ApiError && error.code === 400, String(error));
    return true;
  }
  return false;
};

/** The minimum of five runs: other load on the machine only adds time. */
const cpuMs = (work: () => void) =>
  Math.min(
    ...Array.from({ length: 5 }, () => {
      const before = process.cpuUsage();
      work();
      const { user, system } = process.cpuUsage(before);
      return (user + system) / 1000;
    }),
  );

const shapes: [name: string, labels: (n: number) => string, fields: (n: number) => string][] = [
  ['spaces before an equals sign', () => '', (n) => `a=${' '.repeat(n)}=`],
  ['spaces behind a name', () => '', (n) => `a${' '.repeat(n)}b=c`],
  ['commas', (n) => ','.repeat(n), () => ''],
  ['open brackets', (n) => `a in ${'('.repeat(n)}`, () => ''],
  ['a list of values', (n) => `a in (${'b,'.repeat(n / 2)}c)`, () => ''],
  ['a key without an end', (n) => `${'a-'.repeat(n / 2)}!`, () => ''],
  ['spaces in a label', (n) => `a${' '.repeat(n)}in${' '.repeat(n / 2)}x`, () => ''],
  ['backslashes', () => '', (n) => `metadata.name=${'\\'.repeat(n)},`],
];

test('parsing a selector takes linear time', () => {
  for (const [name, labels, fields] of shapes) {
    const cost = (n: number) =>
      cpuMs(() => {
        for (let round = 0; round < 20; round++) refused(labels(n), fields(n));
      });
    const [few, many] = [cost(1_000), cost(4_000)];
    assert.ok(many <= 8 * few + 5, `${name}: ${few} ms for 1,000 characters, ${many} ms for 4,000`);
  }

  assert.equal(refused(','.repeat(8_190), ''), true);
  assert.equal(refused(Array.from({ length: 101 }, (_, n) => `a${n}`).join(), ''), true);
  assert.equal(refused(Array.from({ length: 100 }, (_, n) => `a${n}`).join(), ''), false);
  assert.equal(refused('', `metadata.name=${'a'.repeat(8_192)}`), true);

  const { labels } = readSelector(' a = b, c!=d ,e in (f , g),h notin (i),!j, k,l>5,m == n', '', nodes);
  assert.deepEqual(
    labels.map(({ key, operator, values }) => [key, operator, ...values]),
    [
      ['a', 'in', 'b'],
      ['c', 'notin', 'd'],
      ['e', 'in', 'f', 'g'],
      ['h', 'notin', 'i'],
      ['j', 'absent'],
      ['k', 'exists'],
      ['l', 'gt', '5'],
      ['m', 'in', 'n'],
    ],
  );
  for (const wrong of ['a=b=c', 'a b', '=a', 'a!b', 'a in b', 'a in (b', 'a in (b)c', 'a>x', 'a=-b', 'a,,b', 'in (a)', 'a/b/c', 'a)'])
    assert.equal(refused(wrong, ''), true, wrong);

  const { fields } = readSelector('', String.raw`metadata.name = a\,b\=c\\ ,metadata.namespace!=d,metadata.name==e`, nodes);
  assert.deepEqual(fields, [
    { field: 'metadata.name', value: 'a,b=c\\', isEqual: true },
    { field: 'metadata.namespace', value: 'd', isEqual: false },
    { field: 'metadata.name', value: 'e', isEqual: true },
  ]);
  for (const wrong of ['a', 'metadata.name', 'metadata.name=a=b', String.raw`metadata.name=\a`, 'metadata.name=\\', '=a', 'x=y'])
    assert.equal(refused('', wrong), true, wrong);
});
