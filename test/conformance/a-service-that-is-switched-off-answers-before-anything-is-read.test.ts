import assert from 'node:assert/strict';
import { test } from 'node:test';
import { contract } from '../../contract/index.ts';
import { topics } from '../../src/identity/principal.ts';
import { run } from '../../src/kernel/db/index.ts';
import { quarterdeck } from '../harness/index.ts';

test('of a service that is switched off nothing shows, whatever is sent', async (t) => {
  const { owner, app, url } = await quarterdeck(t);
  await app.db.write(async (tx) => {
    await run(tx)`update identity.org set entitlements = '{}' where id = ${owner.orgId}`;
    await app.caches.drop(tx, topics.org(owner.orgId));
  });
  const served = contract.filter((op) => op.entitlement && op.permission !== 'none');
  assert.ok(served.length > 30);
  for (const { id, method, path, area, body } of served) {
    const answer = await fetch(`${url}/api/v1${path.replaceAll(/\{[^}]+\}/g, 'x')}?surprise=1`, {
      method,
      headers: { authorization: `Bearer ${owner.key}`, ...(body ? { 'content-type': 'text/plain' } : {}) },
      ...(body ? { body: '{ not JSON' } : {}),
    });
    const { error } = (await answer.json()) as { error: string };
    if (answer.headers.get('x-error-code') === 'no_such_operation') continue; // of an area that is not served yet
    assert.deepEqual(
      [answer.status, answer.headers.get('x-error-code'), error],
      [403, 'not_entitled', `${area.label} is not enabled for this organization; ask the operator to enable it`],
      id,
    );
  }
});
