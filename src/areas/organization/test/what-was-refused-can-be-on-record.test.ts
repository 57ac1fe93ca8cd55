import assert from 'node:assert/strict';
import { test } from 'node:test';
import { caller, quarterdeck, type Someone } from '../../../../test/harness/index.ts';
import { eventually } from '../../../../test/harness/process.ts';
import { deleteExpired } from '../tasks.ts';

interface Entry {
  actor: string;
  action: string;
  target: string;
  requestId?: string;
  detail: Record<string, unknown>;
}

const listRefused = async (owner: Someone): Promise<Entry[]> =>
  (await owner.get('/organization/audit?limit=1000')).body.entries.filter(({ action }: Entry) => action === 'request.refused');

const role = { name: 'All', permissions: ['uptime.service.read'] };

test('what a person was refused for want of a right is on record, if the operator wants it', async (t) => {
  const { owner, url, member } = await quarterdeck(t, { env: { QUARTERDECK_AUDIT_REFUSED: 'on' } });
  const somebody = await member(owner, 'member');
  const refused = await somebody.post('/iam/roles?secret=1', role);
  assert.equal((await owner.get('/tokens/none-such')).status, 404);
  assert.equal((await caller(url, 'qd_pat_wrong').get('/tokens')).status, 401);
  assert.equal(refused.status, 400, 'an unknown parameter is no want of a right');
  const denied = await somebody.post('/iam/roles', role);
  assert.equal(denied.status, 403);

  const found = await eventually(async () => {
    const entries = await listRefused(owner);
    return entries.length > 0 && entries;
  });
  assert.deepEqual(
    found.map(({ actor, target, requestId, detail }) => ({ actor, target, requestId, detail })),
    [
      {
        actor: somebody.userId,
        target: 'POST /api/v1/iam/roles',
        requestId: denied.headers.get('x-request-id')!,
        detail: { operation: 'createRole', code: 'forbidden' },
      },
    ],
  );
});

test('a storm of refusals leaves a bounded number of rows, and the next one says how many were passed over', async (t) => {
  const { owner, member } = await quarterdeck(t, { env: { QUARTERDECK_AUDIT_REFUSED: 'on' } });
  const somebody = await member(owner, 'member');
  for (let sent = 0; sent < 150; sent += 25)
    await Promise.all(Array.from({ length: 25 }, async () => assert.equal((await somebody.post('/iam/roles', role)).status, 403)));
  const rows = await eventually(async () => {
    const entries = await listRefused(owner);
    return entries.length >= 60 && entries;
  });
  const passedOver = rows.reduce((sum, { detail }) => sum + (Number(detail.passedOver) || 0), 0);
  assert.ok(rows.length < 150 && rows.length + passedOver <= 150, `${rows.length} rows, ${passedOver} passed over`);
});

test('without the setting refusals leave no rows, and rows are forgotten when their days are over', async (t) => {
  const { owner, member, clock, perform } = await quarterdeck(t, { env: { QUARTERDECK_AUDIT_DAYS: '30' } });
  const somebody = await member(owner, 'member');
  assert.equal((await somebody.post('/iam/roles', role)).status, 403);
  await owner.patch('/organization', { name: 'Acme' });
  assert.deepEqual(await listRefused(owner), []);

  await clock.advance('29d');
  await owner.patch('/organization', { name: 'Acme 2' });
  await perform(deleteExpired);
  assert.equal(
    (await owner.get('/organization/audit')).body.entries.filter(({ action }: Entry) => action === 'organization.profile.update').length,
    2,
  );
  await clock.advance('2d');
  await perform(deleteExpired);
  const left = (await owner.get('/organization/audit')).body.entries as Entry[];
  assert.equal(left.filter(({ action }) => action === 'organization.profile.update').length, 1);
});
