import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { type Cell, printTable } from '../output.ts';

function printed(t: TestContext, rows: Record<string, Cell>[], columns?: number): string[] {
  const said = t.mock.method(console, 'log', () => {});
  printTable(rows, 'nothing', { columns });
  said.mock.restore();
  return said.mock.calls.flatMap(({ arguments: [text] }) => String(text).split('\n'));
}

test('a sentence at the end of a row goes on below its beginning', (t) => {
  const findings = [{ verdict: 'warn', says: 'no mail of the product leaves; set QUARTERDECK_SMTP_RELAY' }];
  assert.deepEqual(printed(t, findings, 50), [
    'VERDICT  SAYS',
    'warn     no mail of the product leaves; set',
    '         QUARTERDECK_SMTP_RELAY',
  ]);
  assert.deepEqual(printed(t, findings), ['VERDICT  SAYS', `warn     ${findings[0]!.says}`]);
});

test('columns that have no room stand below their row, whole', (t) => {
  const members = [{ email: 'ann@example.com', role: 'owner', id: 'usr_01M7QMQB372GNV8G2835W6GAZH' }];
  assert.deepEqual(printed(t, members, 40), ['EMAIL            ROLE', 'ann@example.com  owner', '  id  usr_01M7QMQB372GNV8G2835W6GAZH']);
  assert.equal(printed(t, members)[1], 'ann@example.com  owner  usr_01M7QMQB372GNV8G2835W6GAZH');
  assert.deepEqual(printed(t, [], 40), ['nothing']);
});
