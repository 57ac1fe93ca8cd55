import assert from 'node:assert/strict';
import { test } from 'node:test';
import Type from 'typebox';
import { rows, run } from '../../src/kernel/db/index.ts';
import { caller, type Quarterdeck } from '../harness/index.ts';
import { quarterdeckOutside } from './outside.ts';
import { byId, type Kitchen, made201, make, pathOf, type Recipe } from './recipe.ts';
import { byToken, type Served, servedAreas } from './recipes/index.ts';
import { filled, secretInputs, secretsIn } from './secrets.ts';

const base64 = (text: string) => Buffer.from(text).toString('base64');
const http = {
  url: 'https://shop.example/health?code=canary-in-a-query',
  method: 'POST',
  headers: { authorization: 'Bearer canary-in-a-header' },
  bodyBase64: base64('canary-in-a-body'),
  expectBodyContains: 'canary-expected-in-a-body',
};
const tcp = { host: 'shop.example', port: 7, sendBase64: base64('canary-sent'), expectPrefixBase64: base64('canary-expected') };

const monitor = { name: 'shop', enabled: false, intervalSeconds: 60, vantages: ['local'] };

/** How to send the secrets that an operation's own recipe leaves out. */
const loaded: Record<string, Partial<Recipe>[]> = {
  createMonitor: [{ body: () => ({ ...monitor, kind: 'http', http }) }, { body: () => ({ ...monitor, kind: 'tcp', tcp }) }],
  tryMonitor: [{ body: () => ({ kind: 'http', http, timeoutMs: 500 }) }, { body: () => ({ kind: 'tcp', tcp, timeoutMs: 500 }) }],
  updateMonitor: [
    { body: () => ({ http }) },
    {
      make: async ({ at }) => byId((await made201(at.post('/uptime/monitors', { ...monitor, kind: 'tcp', tcp }))).id),
      body: () => ({ tcp }),
    },
  ],
};

const atOnce = 4;

const AuditRow = Type.Object({ action: Type.String(), text: Type.String() });
/** Whole rows: a secret is as wrong in a target or a label as it is in the detail. */
const auditRows = ({ app }: Quarterdeck) =>
  app.db.read((tx) => rows(tx, AuditRow)`select action, to_jsonb(a)::text as text from kernel.audit a order by id`);
type Told = Awaited<ReturnType<typeof auditRows>>;

/** As JSON writes it: a secret with a quote in it looks different inside a text. */
const tellers = (told: Told, secrets: Set<string>) =>
  told.flatMap(({ action, text }) =>
    [...secrets].filter((s) => text.includes(JSON.stringify(s).slice(1, -1))).map((s) => `${action} holds ${s}`),
  );

test('no audit row holds a secret that was sent or answered', async (t) => {
  const { qd, fakes } = await quarterdeckOutside(t);
  const [at, foreigner] = await Promise.all([qd.organization('audited'), qd.organization('foreigners')]);
  const kitchen: Kitchen = { qd, fakes, at, caller: at, foreigner };
  const secrets = new Set<string>();
  const unsent: string[] = [];
  const failed: string[] = [];

  const ask = async (spec: Served['spec'], recipe: Recipe) => {
    const thing = await make(recipe, kitchen);
    const key = recipe.key ? await recipe.key(kitchen, thing) : spec.permission === 'none' ? undefined : at.key;
    const body = await recipe.body?.(kitchen, thing);
    const answer = await caller(qd.url, key).request(spec.method, pathOf(spec, thing?.params ?? {}, recipe.query?.(thing)), body);
    if (answer.status >= 300) failed.push(`${spec.id}: ${answer.status} ${JSON.stringify(answer.body)}`);
    for (const secret of [key ?? at.key, ...secretsIn(body), ...secretsIn(answer.body)]) secrets.add(secret);
    return filled(secretInputs(spec), body);
  };

  for (const area of servedAreas())
    await t.test(`${area.name} is asked everything once`, async () => {
      const queue = byToken(area);
      const work = async () => {
        for (let served = queue.shift(); served; served = queue.shift()) {
          const { spec, recipe } = served;
          const sent = await ask(spec, recipe);
          for (const more of loaded[spec.id] ?? []) sent.push(...(await ask(spec, { ...recipe, ...more })));
          unsent.push(...secretInputs(spec).flatMap((path) => (sent.includes(path) ? [] : [`${spec.id} ${path}`])));
        }
      };
      await Promise.all(Array.from({ length: atOnce }, work));
      assert.deepEqual(failed, []);
      assert.deepEqual(unsent, [], 'secrets that nobody sent here; add them to `loaded`');
    });

  const told = await auditRows(qd);
  assert.ok(secrets.size > 20 && told.length > 50, `only ${secrets.size} secrets and ${told.length} rows: this test sees nothing`);
  assert.deepEqual(tellers(told, secrets), []);

  await t.test('and one that does is found', async () => {
    await qd.app.db.write(
      (tx) => run(tx)`
        insert into kernel.audit (id, org_id, at, actor, actor_label, action, target, detail)
        values (kernel.new_id('aud'), ${at.orgId}, kernel.now(), ${at.userId}, ${at.email}, 'planted', 'x', ${JSON.stringify({ http })}::jsonb)`,
    );
    const found = tellers(await auditRows(qd), secrets);
    assert.ok(found.length >= 3 && found.every((f) => f.startsWith('planted holds ')), found.join());
  });
});
