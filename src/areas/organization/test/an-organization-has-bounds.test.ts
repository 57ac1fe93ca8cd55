import assert from 'node:assert/strict';
import { test } from 'node:test';
import { quarterdeck, type Someone } from '../../../../test/harness/index.ts';
import { run } from '../../../kernel/db/index.ts';

test('members and open invitations are a thousand at most, however many invite at once, and are listed slice by slice', async (t) => {
  const { app, owner } = await quarterdeck(t);
  await app.db.write(async (tx) => {
    await run(tx)`
      with made as (insert into identity.account (id, email, name, created_at)
        select kernel.new_id('usr'), 'm' || n || '@example.com', 'm', kernel.now() from generate_series(1, 997) n returning id)
      insert into identity.member (org_id, user_id, role, joined_at) select ${owner.orgId}, id, 'member', kernel.now() from made`;
  });
  assert.equal((await owner.post('/organization/invitations', { email: 'first@example.com' })).status, 201); // the owner, 997 and this one
  const answers = await Promise.all([1, 2, 3].map((n) => owner.post('/organization/invitations', { email: `at-once-${n}@example.com` })));
  assert.deepEqual(answers.map((a) => a.status).sort(), [201, 409, 409]);
  assert.equal(
    answers.find((a) => a.status === 409)!.body.error,
    'the organization has 1000 members and open invitations, the most there can be; remove or withdraw one first',
  );
  const replaced = await owner.post('/organization/invitations', { email: 'first@example.com' });
  assert.equal(replaced.status, 201, 'a newer link in place of an older one needs no further place');
  const accepted = await owner.post('/organization/invitations', { email: 'more@example.com' });
  assert.equal(accepted.status, 409);

  const seen: string[] = [];
  let cursor: string | undefined;
  do {
    const { body } = await owner.get(`/organization/members?limit=400${cursor ? `&cursor=${cursor}` : ''}`);
    assert.ok(body.members.length <= 400);
    seen.push(...body.members.map((m: { userId: string }) => m.userId));
    cursor = body.cursor;
  } while (cursor);
  assert.equal(seen.length, 998);
  assert.deepEqual(seen, [...new Set(seen)].sort().reverse());
});

test('a member holds a hundred grants at most and an organization has a hundred roles of its own; grants are listed slice by slice', async (t) => {
  const { app, owner, member } = await quarterdeck(t);
  const bob: Someone = await member(owner, 'member');
  await app.db.write(async (tx) => {
    await run(tx)`
      insert into identity.role_grant (org_id, id, user_id, role, resource_ids, created_at)
      select ${owner.orgId}, kernel.new_id('grt'), ${bob.userId}, 'uptime.viewer', array['gone ' || n], kernel.now() from generate_series(1, 99) n`;
    await run(tx)`
      insert into identity.custom_role (org_id, id, name, description, permissions, created_at)
      select ${owner.orgId}, kernel.new_id('rol'), 'role ' || n, '', array['uptime.monitor.read'], kernel.now() from generate_series(1, 99) n`;
  });
  const grants = await Promise.all(
    ['oncall.viewer', 'oncall.editor'].map((role) => owner.post('/iam/grants', { subject: bob.userId, role })),
  );
  assert.deepEqual(grants.map((a) => a.status).sort(), [201, 409]);
  assert.match(grants.find((a) => a.status === 409)!.body.error, /holds 100 grants, the most there can be/);
  const roles = await Promise.all(['a', 'b'].map((name) => owner.post('/iam/roles', { name, permissions: ['uptime.monitor.read'] })));
  assert.deepEqual(roles.map((a) => a.status).sort(), [201, 409]);
  assert.match(roles.find((a) => a.status === 409)!.body.error, /100 roles of its own, the most there can be/);

  for (const whose of ['', `subject=${bob.userId}&`]) {
    const first = (await owner.get(`/iam/grants?${whose}limit=60`)).body;
    const second = (await owner.get(`/iam/grants?${whose}limit=60&cursor=${first.cursor}`)).body;
    assert.deepEqual([first.grants.length, second.grants.length, second.cursor], [60, 40, undefined]);
    assert.equal(new Set([...first.grants, ...second.grants].map((g: { id: string }) => g.id)).size, 100);
  }
});
