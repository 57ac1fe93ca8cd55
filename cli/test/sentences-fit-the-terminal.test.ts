import assert from 'node:assert/strict';
import { test } from 'node:test';
import { forTerminal, wrapLines } from '../tell.ts';

test('sentences are broken between words, and what is copied stays whole', () => {
  const sentence =
    'quarterdeck: there is no Quarterdeck in /srv/data yet: start it once with `quarterdeck serve --roles api,worker`, or set QUARTERDECK_DATA';
  assert.equal(
    wrapLines(sentence, 60),
    `quarterdeck: there is no Quarterdeck in /srv/data yet: start
it once with \`quarterdeck serve --roles api,worker\`, or set
QUARTERDECK_DATA`,
  );
  const cases: [text: string, width: number, lines: string[]][] = [
    [
      'interrupted: the work goes on; look with: quarterdeck clusters get dev --wait',
      42,
      ['interrupted: the work goes on; look with:', 'quarterdeck clusters get dev --wait'],
    ],
    [
      '(did you mean quarterdeck iam roles, quarterdeck iam grants?)',
      40,
      ['(did you mean quarterdeck iam roles,', 'quarterdeck iam grants?)'],
    ],
    ['✓ incident inc_1: this is only a test', 20, ['✓ incident inc_1:', '  this is only a', '  test']],
    ['  docker pull a.example/try/hello:v1', 20, ['  docker pull a.example/try/hello:v1']],
    ['a quote ` that nothing closes', 12, ['a quote `', 'that nothing', 'closes']],
    ['一二三四 五六七八', 10, ['一二三四', '五六七八']],
    [`key ${'x'.repeat(50)} end`, 20, [`key ${'x'.repeat(50)}`, 'end']],
  ];
  for (const [text, width, lines] of cases) assert.deepEqual(wrapLines(text, width).split('\n'), lines);
});

test('a pipe gets each sentence on one line, and a long one costs no time', () => {
  const long = `\`${'word '.repeat(200_000)}`;
  assert.equal(forTerminal(long, {}), long);
  assert.ok(wrapLines(long, 80).split('\n').length > 1000);
});
