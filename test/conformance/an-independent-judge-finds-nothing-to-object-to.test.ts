import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { isEndless } from '../../contract/common.ts';
import { caller } from '../harness/index.ts';
import { neverWas, plansOf } from '../matrix/matrix.ts';
import { quarterdeckOutside } from '../matrix/outside.ts';
import { type Kitchen, type Maker, make, pathOf, type Recipe, type Thing } from '../matrix/recipe.ts';
import { byToken, type Served, servedAreas } from '../matrix/recipes/index.ts';
import { startPrism } from './prism.ts';

const atOnce = 4;

/** An operation, and what its recipes made: it serves one request after the other, until one of them changes something. */
type Asked = Served & { things: Map<Maker, Thing> };

const schema = { type: 'object', required: ['moon'] };
/** Two lies about what the server does: a judge that lets them pass judges nothing. */
const lies = {
  '/api/v1/openapi.json': { get: { responses: { 200: { description: 'a lie', content: { 'application/json': { schema } } } } } },
  '/healthz': { get: { responses: { 404: { description: 'a lie' } } } },
};

test('Prism finds nothing to object to in any operation', async (t) => {
  const { qd, fakes } = await quarterdeckOutside(t);
  const document = (await (await fetch(`${qd.url}/api/v1/openapi.json`)).json()) as { paths: object };
  const file = join(qd.dataDir, 'judged.json');
  await writeFile(file, JSON.stringify({ ...document, paths: { ...document.paths, ...lies } }));
  const prism = await startPrism(file, qd.url);
  t.after(prism.stop);

  await t.test('the judge does judge', async () => {
    for (const path of Object.keys(lies)) assert.equal((await fetch(prism.url + path)).status, 500, path);
  });

  const [at, foreigner] = await Promise.all([qd.organization('judged'), qd.organization('foreigners')]);
  const member = await qd.member(at, 'member', 'member@judged.example');
  const kitchen: Kitchen = { qd, fakes, at, caller: at, foreigner };
  const objections: string[] = [];

  const ask = async ({ spec, things }: Asked, what: string, recipe: Recipe, key: string | undefined, unknown: string[] = []) => {
    const maker = recipe.lists ?? recipe.make;
    const thing = (maker && things.get(maker)) ?? (await make(recipe, kitchen));
    if (maker && thing) things.set(maker, thing);
    const params = { ...thing?.params, ...Object.fromEntries(unknown.map((name) => [name, neverWas(thing!.params[name]!)])) };
    const by = caller(prism.url, recipe.key ? await recipe.key(kitchen, thing) : key);
    const { status, headers, body } = await by.request(
      spec.method,
      pathOf(spec, params, recipe.query?.(thing)),
      await recipe.body?.(kitchen, thing),
    );
    const objection = headers.get('sl-violations') ?? (headers.get('content-type')?.includes('problem+json') && JSON.stringify(body));
    if (objection) objections.push(`${spec.id} ${what}: ${status} ${objection}`);
    if (status < 300 && spec.method !== 'GET') things.clear();
    return status;
  };

  /** The good way, and those refusals that a well-formed request can meet. */
  const story = async (served: Served) => {
    const { spec, recipe } = served;
    const asked = { ...served, things: new Map() };
    const good = await ask(asked, 'in the good way', recipe, spec.permission === 'none' ? undefined : at.key);
    if (good >= 300) objections.push(`${spec.id} answered ${good} to its recipe`);
    if (spec.permission.includes('.')) await ask(asked, 'by a member', recipe, member.key);
    const [first, ...others] = plansOf(served);
    const isAskedAlready = spec.permission !== 'none' && !recipe.key; // its first plan is the good way, with the same key
    for (const plan of isAskedAlready ? others : [first!, ...others]) {
      if (plan.recipe.spendsCaller) continue;
      if (plan.named === 'own') await ask(asked, plan.what, plan.recipe, at.key);
      else if (plan.named.of === 'unknown') await ask(asked, plan.what, plan.recipe, at.key, plan.named.params);
    }
  };

  for (const area of servedAreas()) {
    await t.test(area.name, async () => {
      // Prism judges whole answers, and a stream of events never is one.
      const queue = byToken(area).filter(({ spec }) => !isEndless(spec));
      const work = async () => {
        for (let served = queue.shift(); served; served = queue.shift()) await story(served);
      };
      await Promise.all(Array.from({ length: atOnce }, work));
      assert.equal(objections.length, 0, objections.splice(0).join('\n'));
    });
  }
});
