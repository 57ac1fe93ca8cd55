import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { type Caller, quarterdeck } from '../../../../test/harness/index.ts';
import { run } from '../../../kernel/db/index.ts';
import { makeIds, now } from '../../../kernel/time.ts';

interface Entry {
  id: string;
  at: string;
  actor: string;
  action: string;
  target: string;
}

type Filters = Partial<Record<'from' | 'to' | 'actor' | 'target' | 'action', string>>;

const hourMs = 3_600_000;
const actions = [
  'uptime.monitor.create',
  'uptime.monitor.update',
  'uptime.service.create',
  'uptime-agent.create',
  'iam.role.create',
  'iam.grant.delete',
];

async function everyPage(by: Caller, filters: Filters, limit: number): Promise<Entry[]> {
  const found: Entry[] = [];
  for (let cursor: string | undefined; ; ) {
    const query = new URLSearchParams({ ...filters, limit: String(limit), ...(cursor ? { cursor } : {}) });
    const { status, body } = await by.get(`/organization/audit?${query}`);
    assert.equal(status, 200, JSON.stringify(body));
    found.push(...body.entries);
    assert.ok(body.entries.length <= limit);
    cursor = body.cursor;
    if (cursor === undefined) return found;
  }
}

test('every combination of filters finds what a look at each row would find, page by page', async (t) => {
  const { owner, app, organization, member } = await quarterdeck(t, { env: { QUARTERDECK_ROLES: 'api' } });
  const ann = await member(owner, 'member', 'ann@example.com');
  const neighbour = await organization('neighbour');
  const start = Date.parse(await app.db.read(now)) - 100 * hourMs;
  const actors = [owner.userId, ann.userId, 'operator', 'oidc:7'];
  const rows: Entry[] = [];
  for (const orgId of [owner.orgId, neighbour.orgId])
    for (let n = 0; n < 120; n++) {
      const at = new Date(start + Math.floor(n / 2) * hourMs).toISOString();
      const entry: Entry = {
        id: makeIds('aud', at, 1)[0]!,
        at,
        actor: actors[n % 4]!,
        action: actions[(n * 7) % 6]!,
        target: `thing_${n % 5}`,
      };
      if (orgId === owner.orgId) rows.push(entry);
      await app.db.write(
        (tx) => run(tx)`
          insert into kernel.audit (id, org_id, at, actor, actor_label, action, target, detail)
          values (${entry.id}, ${orgId}, ${at}, ${entry.actor}, 'x', ${entry.action}, ${entry.target}, '{}')`,
      );
    }
  const isWanted =
    ({ from, to, actor, target, action }: Filters) =>
    (e: Entry) =>
      (from === undefined || e.at >= new Date(from).toISOString()) &&
      (to === undefined || e.at < new Date(to).toISOString()) &&
      (actor === undefined || e.actor === actor) &&
      (target === undefined || e.target === target) &&
      (action === undefined || e.action.startsWith(action));
  const hour = fc.integer({ min: -2, max: 62 }).map((h) => new Date(start + h * hourMs).toISOString());
  const some = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: undefined });
  const filters = fc.record({
    from: some(hour),
    to: some(hour),
    actor: some(fc.constantFrom(...actors, 'usr_unknown')),
    target: some(fc.constantFrom('thing_1', 'thing_4', 'thing')),
    action: some(fc.constantFrom('uptime', 'uptime.', 'uptime.monitor', 'iam.role.create', 'uptime-', 'z', 'a')),
  });
  const sorted = rows.toSorted((a, b) => (a.id < b.id ? 1 : -1)).map(({ id }) => id);
  const mine = new Set(sorted);
  await fc.assert(
    fc.asyncProperty(filters, fc.constantFrom(1, 7, 50, 1_000), async (chosen, limit) => {
      const given = Object.fromEntries(Object.entries(chosen).filter(([, value]) => value !== undefined)) as Filters;
      const expected = new Set(rows.filter(isWanted(given)).map(({ id }) => id));
      const found = (await everyPage(owner, given, limit)).map(({ id }) => id).filter((id) => mine.has(id));
      assert.deepEqual(
        found,
        sorted.filter((id) => expected.has(id)),
        JSON.stringify(given),
      );
    }),
    { numRuns: 60 },
  );

  // A person is found by their address as well, and nobody by that of another organization's.
  const byAddress = await everyPage(owner, { actor: 'Ann@example.com' }, 1_000);
  assert.equal(byAddress.length, 30);
  assert.deepEqual(await everyPage(owner, { actor: neighbour.email }, 1_000), []);
});

test('a cursor belongs to its filters, and a filter that makes no sense is refused', async (t) => {
  const { owner, narrowed, member } = await quarterdeck(t, { env: { QUARTERDECK_ROLES: 'api' } });
  for (const name of ['a', 'b', 'c']) assert.equal((await owner.post('/uptime/services', { name })).status, 201);
  const first = (await owner.get('/organization/audit?action=services.&limit=1')).body;
  assert.equal((await owner.get(`/organization/audit?action=services.&limit=2&cursor=${first.cursor}`)).body.entries.length, 2);
  for (const query of ['action=services', 'limit=1', 'actor=operator', 'action=services.&target=x']) {
    const refused = await owner.get(`/organization/audit?${query}&cursor=${first.cursor}`);
    assert.deepEqual([refused.status, refused.body.error], [400, 'the cursor belongs to other filters; start again without it'], query);
  }
  for (const query of ['from=yesterday', 'to=1999-01-01T00:00:00Z', 'action=UPTIME', 'action=%25', 'actor=', 'target='])
    assert.equal((await owner.get(`/organization/audit?${query}`)).status, 400, query);
  assert.equal((await (await member(owner, 'member')).get('/organization/audit?action=services.')).status, 403);
  assert.equal((await (await narrowed(owner, [{ role: 'uptime.viewer' }])).get('/organization/audit?actor=x')).status, 403);
});
