import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Caller, caller, quarterdeck } from '../harness/index.ts';
import { urlOf } from '../harness/postgres.ts';
import { eventually, scratch, serverProcess } from '../harness/process.ts';

// Server A is in this process, server B is a process of its own; they share nothing but the database.

async function twoServers(t: Parameters<typeof quarterdeck>[0]) {
  const a = await quarterdeck(t);
  const { dir } = await scratch(t);
  // The same secret.key, as on two machines of one operator.
  const env = { QUARTERDECK_DATABASE_URL: urlOf(a.connection), QUARTERDECK_TRUSTED_PROXIES: '127.0.0.1' };
  const b = serverProcess(t, { dir, dataDir: a.dataDir, env });
  return { a, b, urlB: await b.ready };
}

/** How long after the answer the other server last let the old rights through; it must stop within a second. */
async function lastAccepted(ask: () => Promise<boolean>): Promise<number> {
  const from = performance.now();
  let accepted = 0;
  await eventually(
    async () => {
      const sent = performance.now();
      if (!(await ask())) return true;
      accepted = sent - from;
      return false;
    },
    { withinMs: 1_000, everyMs: 0 },
  );
  return accepted;
}

test('a revocation is seen by every server', async (t) => {
  const { a, b, urlB } = await twoServers(t);

  const status = async (who: Caller, path: string) => (await who.get(path)).status;
  const turns = async (what: string, who: Caller, path: string, act: () => Promise<{ status: number }>, from: number, to: number) => {
    assert.equal(await status(who, path), from, `before: ${what}`);
    assert.ok((await act()).status < 300, what);
    await lastAccepted(async () => (await status(who, path)) !== to).catch(() => assert.fail(`not seen within a second: ${what}`));
  };
  const at = (someone: { key: string }) => caller(urlB, someone.key);

  const member = await a.member(a.owner, 'admin');
  const second = await a.narrowed(member, []); // another token of the same person
  await turns('a token is disabled', at(member), '/me', () => member.patch(`/tokens/${member.tokenId}`, { enabled: false }), 200, 401);
  await turns('a token is enabled', at(member), '/me', () => second.patch(`/tokens/${member.tokenId}`, { enabled: true }), 401, 200);
  await turns(
    'a member is demoted',
    at(member),
    '/organization/audit',
    () => a.owner.patch(`/organization/members/${member.userId}`, { role: 'member' }),
    200,
    403,
  );

  const role = (await a.owner.post('/iam/roles', { name: 'Watchers', permissions: ['uptime.service.read'] })).body;
  const grant = (await a.owner.post('/iam/grants', { subject: member.userId, role: role.id })).body;
  await lastAccepted(async () => (await status(at(member), '/uptime/services')) !== 200);
  await turns(
    'a role is edited',
    at(member),
    '/uptime/services',
    () => a.owner.patch(`/iam/roles/${role.id}`, { permissions: ['oncall.service.read'] }),
    200,
    403,
  );
  await turns(
    'a role is edited back',
    at(member),
    '/uptime/services',
    () => a.owner.patch(`/iam/roles/${role.id}`, { permissions: ['uptime.service.read'] }),
    403,
    200,
  );
  await turns('a grant is taken away', at(member), '/uptime/services', () => a.owner.delete(`/iam/grants/${grant.id}`), 200, 403);

  const narrow = await a.narrowed(a.owner, [{ role: 'uptime.viewer' }]);
  await turns(
    'a token is narrowed further',
    at(narrow),
    '/uptime/services',
    () => a.owner.patch(`/tokens/${narrow.tokenId}`, { scope: [{ role: 'oncall.viewer' }] }),
    200,
    403,
  );
  const above = (await a.owner.post('/tokens', { name: 'above' })).body;
  const between = (await caller(a.url, above.key).post('/tokens', { name: 'between' })).body;
  const below = (await caller(a.url, between.key).post('/tokens', { name: 'below' })).body;
  const change = (to: object) => () => a.owner.patch(`/tokens/${above.id}`, to);
  await turns('what minted its minter is switched off', at(below), '/me', change({ enabled: false }), 200, 401);
  await turns('what minted its minter is switched on', at(below), '/me', change({ enabled: true }), 401, 200);
  const narrower = change({ scope: [{ role: 'oncall.viewer' }] });
  await turns('what minted its minter is narrowed', at(below), '/uptime/services', narrower, 200, 403);
  await turns('what minted its minter is revoked', at(below), '/me', () => a.owner.delete(`/tokens/${above.id}`), 200, 401);
  await turns('a member is removed', at(member), '/me', () => a.owner.delete(`/organization/members/${member.userId}`), 200, 401);

  // The list that B remembers is forgotten too when A changes it.
  const names = async () => (await at(a.owner).get('/tokens')).body.tokens.map((x: { name: string }) => x.name);
  assert.equal((await names()).includes('renamed'), false);
  await a.owner.patch(`/tokens/${narrow.tokenId}`, { name: 'renamed' });
  await lastAccepted(async () => !(await names()).includes('renamed'));

  const delays: number[] = [];
  for (let n = 0; n < 40; n++) {
    const { id, key } = (await a.owner.post('/tokens', { name: `${n}` })).body;
    // Every other time it is not the token itself that is revoked, but the one that minted it.
    const child = n % 2 ? (await caller(a.url, key).post('/tokens', { name: `of ${n}` })).body : undefined;
    // From an address of its own: what is revoked is a wrong key there, and after sixty in a minute a new one would be made to wait.
    const from = { 'x-forwarded-for': `198.51.100.${n}` };
    const meOnB = () => caller(urlB, child?.key ?? key).request('GET', '/me', undefined, from);
    // Remembered there from now on; the first may have been read while the word of its making was still on its way.
    for (let m = 0; m < 3; m++) assert.equal((await meOnB()).status, 200);
    assert.equal((await a.owner.delete(`/tokens/${id}`)).status, 204);
    delays.push(await lastAccepted(async () => (await meOnB()).status === 200));
    assert.equal((await meOnB()).status, 401);
  }
  delays.sort((x, y) => x - y);
  t.diagnostic(
    `40 revocations on another server, half of them of a token’s minter: p50 ${delays[20]!.toFixed(1)} ms, worst ${delays[39]!.toFixed(1)} ms (promised: p99 50 ms)`,
  );
  assert.equal(await b.stopped(), 0);
});
