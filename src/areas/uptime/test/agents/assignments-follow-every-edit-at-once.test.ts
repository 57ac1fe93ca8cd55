import assert from 'node:assert/strict';
import { test } from 'node:test';
import { quarterdeck } from '../../../../../test/harness/index.ts';
import { agent, made, monitor, watched } from '../support.ts';

test('an agent that waits is told of every edit at once, and of nothing else', async (t) => {
  const qd = await quarterdeck(t);
  const { owner } = qd;
  const { agents, monitor: first } = await watched(qd, ['tokyo'], { http: { url: 'https://checked.example/', expectBodyContains: 'ok' } });
  const tokyo = agents[0]!;
  await agent(qd, 'paris');

  const { body: all } = await tokyo.assignments();
  assert.equal(all.full, true);
  assert.deepEqual(all.removed, []);
  assert.equal(all.assignments.length, 1);
  const [told] = all.assignments;
  assert.deepEqual(
    { ...told, target: undefined, tenant: typeof told!.tenant },
    {
      id: first.id,
      tenant: 'string',
      epoch: 1,
      kind: 'http',
      intervalSeconds: 60,
      timeoutMs: 10_000,
      confirmations: 2,
      streak: { fail: 0, pass: 0, verdict: 'unknown' },
      target: undefined,
    },
  );
  assert.equal((told!.target as { url: string }).url, 'https://checked.example/');

  let cursor = all.cursor;
  const delays: number[] = [];
  const hears = async (change: () => Promise<unknown>) => {
    const waiting = tokyo.assignments(cursor);
    await change();
    const began = performance.now();
    const { status, body } = await waiting;
    delays.push(performance.now() - began);
    assert.equal(status, 200);
    assert.equal(body.full, false);
    assert.notEqual(body.cursor, cursor);
    cursor = body.cursor;
    return { ids: body.assignments.map((a) => a.id), removed: body.removed, assignments: body.assignments };
  };
  const path = `/uptime/monitors/${first.id}`;
  let second = { id: '' };
  const made2 = await hears(async () => (second = await monitor(owner, ['tokyo', 'paris'])));
  assert.deepEqual(made2.ids, [second.id]);
  const faster = await hears(() => made(owner.patch(path, { intervalSeconds: 30 })));
  assert.deepEqual([faster.ids, faster.assignments[0]!.intervalSeconds, faster.assignments[0]!.epoch], [[first.id], 30, 1]);
  const elsewhere = await hears(() => made(owner.patch(path, { http: { url: 'https://other.example/' } })));
  assert.deepEqual([elsewhere.ids, elsewhere.assignments[0]!.epoch], [[first.id], 2]);
  assert.deepEqual(await hears(() => made(owner.patch(path, { enabled: false }))), { ids: [], removed: [first.id], assignments: [] });
  assert.deepEqual((await hears(() => made(owner.patch(path, { enabled: true })))).ids, [first.id]);
  assert.deepEqual(
    (
      await hears(() =>
        made(owner.patch(`/uptime/monitors/${second.id}`, { vantages: ['paris'], downCondition: { confirmations: 2, quorum: 1 } })),
      )
    ).removed,
    [second.id],
  );
  assert.deepEqual((await hears(() => made(owner.delete(path)))).removed, [first.id]);
  t.diagnostic(`told within ${Math.max(...delays).toFixed(0)} ms of the answer to the edit`);
  assert.ok(Math.max(...delays) < 500, delays.join());

  const nothing = AbortSignal.timeout(300);
  await assert.rejects(tokyo.assignments(cursor, nothing), 'without news it waits');
  const { body: anew } = await tokyo.assignments('made up');
  assert.deepEqual([anew.full, anew.assignments, anew.cursor], [true, [], cursor]);
});

test('a server that stops does not wait for those who wait', async (t) => {
  const qd = await quarterdeck(t);
  const { agents } = await watched(qd, ['tokyo']);
  const { body } = await agents[0]!.assignments();
  const waiting = agents[0]!.assignments(body.cursor);
  const began = performance.now();
  await new Promise((resolve) => setTimeout(resolve, 50)); // so that the question has arrived
  await qd.stop();
  assert.ok(performance.now() - began < 5_000, `${performance.now() - began} ms`);
  assert.deepEqual((await waiting).body, { cursor: body.cursor, full: false, assignments: [], removed: [] });
});

test('an agent can tell organizations apart, and is not told which they are', async (t) => {
  const qd = await quarterdeck(t);
  const { agents, monitor: ours } = await watched(qd, ['tokyo']);
  const other = await qd.organization('other');
  const more = await monitor(qd.owner, ['tokyo']);
  const theirs = await monitor(other, ['tokyo']);
  const { body } = await agents[0]!.assignments();
  const tenantOf = (id: string) => body.assignments.find((a) => a.id === id)!.tenant!;
  assert.equal(tenantOf(ours.id), tenantOf(more.id));
  assert.notEqual(tenantOf(ours.id), tenantOf(theirs.id));
  assert.ok(!JSON.stringify(body).includes(qd.owner.orgId));
});
