import assert from 'node:assert/strict';
import { test } from 'node:test';
import Type from 'typebox';
import { type Caller, quarterdeck } from '../../../../../test/harness/index.ts';
import { row } from '../../../../kernel/db/index.ts';
import { barOf, cellSeconds, cells, type Day, firstCellAt, halfHoursOf, lineOf } from '../../rules/summary.ts';
import * as tasks from '../../tasks.ts';
import { agent, eventually, made, monitor } from '../support.ts';

const summary = (by: Caller, query = '') => made(by.get(`/uptime/summary${query}`));

test('a day of every monitor is a bar, a line, and its state', async (t) => {
  const qd = await quarterdeck(t, { env: { QUARTERDECK_ROLES: 'api,worker' } });
  const { owner, clock, app } = qd;
  const [tokyo, paris] = [await agent(qd, 'tokyo'), await agent(qd, 'paris')];
  const { id: serviceId } = await made(owner.post('/uptime/services', { name: 'shop' }));
  const its = await monitor(owner, ['tokyo', 'paris'], { name: 'front', serviceId });
  const idle = await monitor(owner, ['tokyo'], { name: 'idle', enabled: false });
  const both = async (how: 'pass' | 'fail', latencyMs: number) => {
    await tokyo[how](its, { latencyMs });
    await paris[how](its, { latencyMs: 3 * latencyMs });
  };

  const fresh = await summary(owner);
  assert.deepEqual(fresh.counts, { up: 0, down: 0, pending: 1, disabled: 1 });
  assert.deepEqual(
    fresh.monitors.map((m: { id: string }) => m.id),
    [idle.id, its.id],
    'newest first',
  );
  assert.deepEqual(
    [fresh.monitors[1].bar, new Set(fresh.monitors[1].line), 'latencyMs' in fresh.monitors[1]],
    ['-'.repeat(48), new Set([null]), false],
  );

  await both('pass', 100);
  await clock.advance('30m');
  await both('pass', 100);
  await paris.fail(its, { ageMs: 1, latencyMs: 40 }); // before its newest pass: one check of one vantage
  await clock.advance('30m');
  for (let n = 0; n < 2; n++) {
    await both('fail', 10);
    await clock.advance('1m');
  }
  const { counts, monitors, from, cellSeconds: cell, pointSeconds } = await summary(owner);
  const [, seen] = monitors;
  assert.deepEqual(counts, { up: 0, down: 1, pending: 0, disabled: 1 });
  assert.deepEqual(
    [seen.name, seen.kind, seen.enabled, seen.state, seen.serviceId, seen.latencyMs],
    ['front', 'http', true, 'down', serviceId, 30],
  );
  assert.match(seen.bar, /^-{44,45}upd{1,2}$/);
  assert.deepEqual([cell, pointSeconds, seen.bar.length, seen.line.length], [1_800, 3_600, 48, 24]);
  assert.equal(Date.parse(from) % 1_800_000, 0);
  const points = seen.line.filter((p: number | null) => p !== null);
  assert.ok(
    points.includes(200) && points.every((p: number) => p === 200 || p === 20),
    `${points}: failing ones do not count beside passing`,
  );

  // A planned window that is called off gives its checks back to the bar as well.
  const endsAt = new Date(Date.parse(from) + 26 * 3_600_000).toISOString();
  await clock.advance('30m');
  await both('pass', 100);
  await clock.advance('1m');
  await both('pass', 100);
  await clock.advance('30m');
  const window = await made(owner.post('/uptime/maintenance', { serviceId, title: 'work', endsAt }));
  await both('pass', 100);
  assert.match((await summary(owner)).monitors[1].bar, /-$/);
  await made(owner.delete(`/uptime/maintenance/${window.id}`));
  await eventually(async () => (await summary(owner)).monitors[1].bar.endsWith('u'));

  // Nothing of two days ago is shown or kept.
  await clock.advance('50h');
  assert.equal((await summary(owner)).monitors[1].bar, '-'.repeat(48));
  await qd.perform(tasks.forgetOld);
  const kept = await app.db.read(
    (tx) => row(tx, Type.Object({ n: Type.Integer() }))`select count(*)::int as n from uptime.check_half_hour`,
  );
  assert.equal(kept!.n, 0);
});

test('a summary shows what its caller may see, page by page, and is small for those who take gzip', async (t) => {
  const qd = await quarterdeck(t, { env: { QUARTERDECK_ROLES: 'api' } });
  const { owner, url } = qd;
  await agent(qd, 'tokyo');
  const { id: serviceId } = await made(owner.post('/uptime/services', { name: 'shop' }));
  const [a, b, c] = [
    await monitor(owner, ['tokyo'], { serviceId }),
    await monitor(owner, ['tokyo']),
    await monitor(owner, ['tokyo'], { serviceId }),
  ];
  const ids = (answer: { monitors: { id: string }[] }) => answer.monitors.map((m) => m.id);
  const first = await summary(owner, '?limit=2');
  assert.deepEqual([ids(first), first.counts.pending], [[c.id, b.id], 3]);
  const second = await summary(owner, `?limit=2&cursor=${first.cursor}`);
  assert.deepEqual([ids(second), second.cursor], [[a.id], undefined]);

  const ofShop = await qd.narrowed(owner, [{ role: 'uptime.viewer', resourceIds: [serviceId] }]);
  const narrow = await summary(ofShop);
  assert.deepEqual([ids(narrow), narrow.counts.pending], [[c.id, a.id], 2]);
  const other = await summary(await qd.organization('neighbour'));
  assert.deepEqual([other.monitors, other.counts.pending], [[], 0]);
  const outsider = await qd.narrowed(owner, [{ role: 'oncall.viewer' }]);
  assert.equal((await outsider.get('/uptime/summary')).status, 403);
  assert.equal((await owner.get('/uptime/summary?cursor=nonsense')).status, 400);

  const asked = (encoding: string) =>
    fetch(`${url}/api/v1/uptime/summary`, { headers: { authorization: `Bearer ${owner.key}`, 'accept-encoding': encoding } });
  const [plain, small] = [await asked('identity'), await asked('gzip')];
  assert.deepEqual([plain.headers.get('content-encoding'), small.headers.get('content-encoding')], [null, 'gzip']);
  assert.deepEqual([plain.headers.get('vary'), small.headers.get('vary')], ['accept-encoding', 'accept-encoding']);
  assert.deepEqual(await small.json(), await plain.json());
});

test('a cell is down where an outage was, whatever its checks say', () => {
  const hour = 3_600_000;
  const now = 1_000_000 * cellSeconds * 1_000 + 60_000;
  const firstCell = firstCellAt(now);
  assert.equal(firstCell, 1_000_000 - cells + 1);
  const day = (more: Partial<Day>): Day => ({ firstCell, now, state: 'up', since: 0, changes: [], isCut: false, ...more });
  const passing = halfHoursOf(`{${Array.from({ length: cells }, (_, i) => `{${i},10,${i === 5 ? 9 : 10},1000}`).join()}}`);
  assert.equal(barOf(passing, day({})), `${'u'.repeat(5)}p${'u'.repeat(42)}`);
  assert.equal(barOf([], day({ state: 'down', since: now - 100 * hour })), 'd'.repeat(48));
  assert.equal(barOf([], day({ state: 'pending' })), '-'.repeat(48));

  const edge = 1_000_000 * cellSeconds * 1_000; // an outage that ends where a cell begins leaves that cell alone
  const outage = [
    { since: edge, from: 'down', to: 'up' },
    { since: edge - hour, from: 'up', to: 'down' },
  ] as const;
  assert.equal(barOf(passing, day({ changes: outage })).slice(-4), 'uddu');
  const ended = [{ since: edge - hour, from: 'down', to: 'up' }] as const;
  assert.equal(barOf(passing, day({ changes: ended })), `${'d'.repeat(45)}uuu`);
  assert.equal(barOf(passing, day({ changes: ended, isCut: true })), barOf(passing, day({})), 'what was not read is judged by the checks');

  assert.deepEqual(lineOf(passing.slice(4, 6)), [null, null, Math.round(2_000 / 19), ...Array(21).fill(null)]);
  assert.deepEqual(lineOf([{ cell: 47, checks: 2, passed: 0, ms: 61 }]).at(-1), 31);
  assert.deepEqual(halfHoursOf(null), []);
});
