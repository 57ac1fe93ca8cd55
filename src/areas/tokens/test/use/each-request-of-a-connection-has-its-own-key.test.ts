import assert from 'node:assert/strict';
import { once } from 'node:events';
import http from 'node:http';
import { test } from 'node:test';
import { quarterdeck } from '../../../../../test/harness/index.ts';

test('each request of a connection is answered for the key that it brings, and a revoked key is refused on an open one', async (t) => {
  const { url, owner } = await quarterdeck(t);
  const minted = await owner.post('/tokens', { name: 'narrow', scope: [{ role: 'uptime.viewer' }] });
  const { id, key } = minted.body;
  const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
  t.after(() => agent.destroy());
  const ports = new Set<number | undefined>();
  const ask = async (authorization?: string): Promise<number> => {
    const request = http.get(`${url}/api/v1/organization/audit`, { agent, headers: authorization ? { authorization } : {} });
    const [response] = (await once(request, 'response')) as [http.IncomingMessage];
    ports.add(request.socket?.localPort);
    await response.toArray();
    return response.statusCode!;
  };

  assert.equal(await ask(`Bearer ${owner.key}`), 200);
  assert.equal(await ask(`Bearer ${key}`), 403, 'a narrow token');
  assert.equal(await ask(`Bearer ${owner.key}`), 200);
  assert.equal(await ask(), 401);
  assert.equal(await ask(`Bearer ${owner.key}x`), 401);
  assert.equal(await ask(`bearer  ${owner.key}`), 200, 'the scheme in any case, and more than one space');
  assert.equal(await ask(`Basic ${owner.key}`), 401);
  assert.equal(await ask(`Bearer ${key}`), 403);
  assert.equal((await owner.delete(`/tokens/${id}`)).status, 204);
  assert.equal(await ask(`Bearer ${key}`), 401, 'the same key on the same connection, revoked since');
  assert.equal(ports.size, 1, 'all of them came by one connection');
});
