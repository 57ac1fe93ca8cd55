import assert from 'node:assert/strict';
import { test } from 'node:test';
import { quarterdeck } from '../../../test/harness/index.ts';

test('what waits for its turn is not done once its token is revoked', async (t) => {
  const server = await quarterdeck(t);
  const { owner } = server;
  const { requests } = server.app;
  const lost = await server.narrowed(owner, []);
  const kept = await server.narrowed(owner, []);
  const other = await server.organization('other');
  assert.equal((await lost.get('/uptime/services')).status, 200);
  assert.equal((await kept.get('/uptime/services')).status, 200);
  const haveCome = async (count: number) => {
    while (requests.figures().find(({ org }) => org === owner.orgId)?.waiting !== count) await other.get('/uptime/services');
  };

  for (let n = 0; n < 8; n++) assert.equal(requests.acquire(owner.orgId), undefined);
  const revoked = owner.delete(`/tokens/${lost.tokenId}`);
  await haveCome(1);
  const late = lost.post('/uptime/services', { name: 'late' });
  await haveCome(2);
  const right = kept.post('/uptime/services', { name: 'right' });
  await haveCome(3);
  requests.release(owner.orgId); // one after the other, in the order in which they came

  assert.equal((await revoked).status, 204);
  assert.equal((await late).status, 401);
  assert.equal((await right).status, 201);
  for (let n = 0; n < 7; n++) requests.release(owner.orgId);
});
