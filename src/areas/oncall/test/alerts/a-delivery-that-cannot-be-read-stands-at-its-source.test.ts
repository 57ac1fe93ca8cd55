import assert from 'node:assert/strict';
import { test } from 'node:test';
import { currentContext } from '../../../../kernel/fairness/index.ts';
import { covered, eventually, made, source, user, ward } from '../support.ts';

test('a delivery that is no JSON, or too large, is refused and stands at its source with the reason', async (t) => {
  const { owner, url } = await ward(t);
  const { service } = await covered(owner, { steps: [[user(owner), 300]] });
  const { deliver } = await source(owner, url, service.id);
  const problem = async () => (await made(owner.get('/oncall/alert-sources'))).sources[0].lastProblem?.message;
  assert.equal(await problem(), undefined);
  assert.equal((await deliver('{"alerts": [')).status, 400);
  await eventually(async () => (await problem()) === 'the body is not valid JSON');
  assert.equal((await deliver(`{"alerts": [], "more": "${'x'.repeat(8 * 2 ** 20)}"}`)).status, 413);
  await eventually(async () => /^the body is larger than/.test((await problem()) ?? ''));
});

test('what stands at the source of a delivery that cannot be read is written at the cost of its organization', async (t) => {
  const { owner, url, app } = await ward(t);
  const { service } = await covered(owner, { steps: [[user(owner), 300]] });
  const { deliver } = await source(owner, url, service.id);
  const whose: string[] = [];
  const { write } = app.db;
  app.db.write = (work) => {
    const { org } = currentContext();
    if (org !== '') whose.push(org); // not what the server does by itself
    return write(work);
  };
  t.after(() => (app.db.write = write));
  assert.equal((await deliver('{"alerts": [')).status, 400);
  assert.deepEqual(whose, [owner.orgId]);
});
