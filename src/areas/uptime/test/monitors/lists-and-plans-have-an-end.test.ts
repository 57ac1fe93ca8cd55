import assert from 'node:assert/strict';
import { test } from 'node:test';
import { run } from '../../../../kernel/db/index.ts';
import { desk, made } from '../agent-context.ts';

test('services are listed piece by piece; export tokens and planned windows are a hundred at most', async (t) => {
  const { owner, app } = await desk(t);
  const ids: string[] = [];
  for (let n = 0; n < 5; n++) ids.unshift((await made(owner.post('/uptime/services', { name: `service ${n}` }))).id);
  const first = await made(owner.get('/uptime/services?limit=2'));
  const second = await made(owner.get(`/uptime/services?limit=3&cursor=${first.cursor}`));
  const seen = [...first.services, ...second.services].map((s: { id: string }) => s.id);
  assert.deepEqual([seen, second.cursor], [ids, undefined]);

  await app.db.write(
    (tx) => run(tx)`
      insert into uptime.export_token (org_id, id, name, hash, created_at)
      select ${owner.orgId}, kernel.new_id('exp'), 'x', sha256(n::text::bytea), kernel.now() from generate_series(1, 99) n`,
  );
  const { id } = await made(owner.post('/uptime/export-tokens', { name: 'the last' }));
  const refused = await owner.post('/uptime/export-tokens', { name: 'one more' });
  assert.deepEqual(
    [refused.status, refused.body.error],
    [409, 'the organization has 100 export tokens, which is the most; revoke one first'],
  );
  assert.equal((await owner.delete(`/uptime/export-tokens/${id}`)).status, 204);
  await made(owner.post('/uptime/export-tokens', { name: 'one more' }));

  await app.db.write(
    (tx) => run(tx)`
      insert into uptime.maintenance (org_id, id, service_id, title, starts_at, ends_at, created_at)
      select ${owner.orgId}, kernel.new_id('mnt'), ${ids[0]!}, 'x', kernel.now(), kernel.now() + interval '1 hour', kernel.now() from generate_series(1, 100)`,
  );
  const plan = (serviceId: string) =>
    owner.post('/uptime/maintenance', { serviceId, title: 'more', endsAt: new Date(Date.now() + 3_600_000).toISOString() });
  const full = await plan(ids[0]!);
  assert.equal(full.status, 409);
  assert.match(full.body.error, /has 100 windows that are not over, which is the most; call some off first/);
  assert.equal((await plan(ids[1]!)).status, 201, 'another service has its own');
});
