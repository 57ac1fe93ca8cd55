import assert from 'node:assert/strict';
import { test } from 'node:test';
import { quarterdeck } from '../../../test/harness/index.ts';

test('a known caller is charged for reading a body, also an unusable one', async (t) => {
  const qd = await quarterdeck(t);
  const owner = await qd.organization('acme');
  const { mock } = t.mock.method(qd.app.watch, 'resume');
  const headers = { authorization: `Bearer ${owner.key}`, 'content-type': 'application/json' };
  const answer = await fetch(`${qd.url}/api/v1/tokens`, { method: 'POST', headers, body: '{"name": "no end' });
  assert.equal(answer.status, 400);

  const named = mock.calls.map(({ arguments: [context] }) => `${context.org} ${context.operation}`);
  assert.ok(named.includes(`${owner.orgId} createToken`), named.join(', '));
});
