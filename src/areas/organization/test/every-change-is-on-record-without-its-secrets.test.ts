import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Answer, caller, quarterdeck } from '../../../../test/harness/index.ts';

interface Entry {
  id: string;
  at: string;
  actor: string;
  actorLabel: string;
  tokenId?: string;
  action: string;
  target: string;
  requestId?: string;
  detail: Record<string, unknown>;
}

test('every change is on record: who, by which token, in which request, and none of its secrets', async (t) => {
  const { owner, anonymous, url } = await quarterdeck(t);
  const secrets: string[] = [owner.key];
  const expected: { action: string; target: string; requestId: string }[] = [];
  const did = (action: string, answer: Answer, target?: string) => {
    assert.ok(answer.status < 300, `${action}: ${JSON.stringify(answer.body)}`);
    expected.push({ action, target: target ?? answer.body.id, requestId: answer.headers.get('x-request-id')! });
    return answer.body;
  };

  const token = did('tokens.token.create', await owner.post('/tokens', { name: 'ci' }));
  secrets.push(token.key);
  did('tokens.token.update', await owner.patch(`/tokens/${token.id}`, { name: 'ci 2', enabled: false }));
  did('tokens.token.delete', await owner.delete(`/tokens/${token.id}`), token.id);
  const role = did('iam.role.create', await owner.post('/iam/roles', { name: 'Watchers', permissions: ['uptime.service.read'] }));
  did('iam.role.update', await owner.patch(`/iam/roles/${role.id}`, { description: 'who watch' }));
  const invited = did('organization.invitation.create', await owner.post('/organization/invitations', { email: 'bob@example.com' }), '');
  expected.at(-1)!.target = invited.invitation.id;
  secrets.push(invited.link.split('/').pop());
  const joined = did('organization.member.join', await anonymous.post('/organization/invitations/accept', { secret: secrets.at(-1) }), '');
  expected.at(-1)!.target = joined.userId;
  secrets.push(joined.key);
  const grant = did('iam.grant.create', await owner.post('/iam/grants', { subject: joined.userId, role: role.id }));
  did('iam.grant.delete', await owner.delete(`/iam/grants/${grant.id}`), grant.id);
  did('iam.role.delete', await owner.delete(`/iam/roles/${role.id}`), role.id);
  did('organization.member.update', await owner.patch(`/organization/members/${joined.userId}`, { role: 'admin' }), joined.userId);
  did('organization.contacts.update', await owner.patch('/organization/contacts', { technicalEmail: 'ops@example.com' }), owner.orgId);
  did('organization.profile.update', await owner.patch('/organization', { name: 'Acme' }), owner.orgId);
  const second = did('organization.invitation.create', await owner.post('/organization/invitations', { email: 'eve@example.com' }), '');
  expected.at(-1)!.target = second.invitation.id;
  secrets.push(second.link.split('/').pop());
  did('organization.invitation.delete', await owner.delete(`/organization/invitations/${second.invitation.id}`), second.invitation.id);
  const service = did('services.service.create', await owner.post('/uptime/services', { name: 'shop' }));
  did('services.service.rename', await owner.patch(`/uptime/services/${service.id}`, { name: 'Shop' }));
  did('services.service.delete', await owner.delete(`/uptime/services/${service.id}`), service.id);
  did('organization.member.remove', await owner.delete(`/organization/members/${joined.userId}`), joined.userId);

  const { entries, cursor } = (await owner.get('/organization/audit')).body as { entries: Entry[]; cursor?: string };
  assert.equal(cursor, undefined);
  const ours = entries.filter((e) => e.requestId);
  const byRequest = (a: { requestId?: string }, b: { requestId?: string }) => a.requestId!.localeCompare(b.requestId!);
  assert.deepEqual(ours.map(({ action, target, requestId }) => ({ action, target, requestId })).sort(byRequest), expected.sort(byRequest));
  assert.deepEqual(
    entries.map((e) => e.at),
    entries
      .map((e) => e.at)
      .sort()
      .reverse(),
  );
  for (const entry of ours) {
    const byBob = entry.action === 'organization.member.join';
    assert.deepEqual([entry.actor, entry.tokenId], byBob ? [joined.userId, undefined] : [owner.userId, owner.tokenId]);
    assert.equal(entry.actorLabel, byBob ? 'bob@example.com' : owner.email);
  }
  // What the first start did is on record as the operator’s.
  assert.ok(entries.filter((e) => !e.requestId).every((e) => e.actor === 'operator'));
  const text = JSON.stringify(entries);
  for (const secret of secrets) assert.equal(text.includes(secret), false);
  assert.doesNotMatch(text, /qd_(pat|inv)_[0-9A-Za-z]{5}/);

  // Slice by slice it is the same, and the next one stays right while entries come in.
  const first = (await owner.get('/organization/audit?limit=5')).body;
  await owner.patch('/organization', { name: 'Acme 2' });
  const next = (await owner.get(`/organization/audit?limit=5&cursor=${first.cursor}`)).body;
  assert.deepEqual(
    [...first.entries, ...next.entries].map((e: Entry) => e.id),
    entries.slice(0, 10).map((e) => e.id),
  );
  assert.equal((await caller(url, owner.key).get('/organization/audit?cursor=nonsense')).status, 400);
});

test('what was refused or changed nothing is not on record, and another organization’s record is not shown', async (t) => {
  const { owner, organization, member } = await quarterdeck(t);
  const count = async () => (await owner.get('/organization/audit')).body.entries.length;
  const before = await count();
  const clerk = await member(owner, 'member');
  const other = await organization('other');

  assert.equal((await clerk.patch('/organization', { name: 'mine' })).status, 403);
  assert.equal((await owner.patch('/organization', {})).status, 200);
  assert.equal((await owner.patch(`/organization/members/${clerk.userId}`, { role: 'member' })).status, 200);
  assert.equal((await owner.post('/iam/roles', { name: 'x', permissions: ['nonsense'] })).status, 400);
  assert.equal((await owner.delete(`/tokens/${other.tokenId}`)).status, 404);
  assert.equal((await other.post('/uptime/services', { name: 'theirs' })).status, 201);
  assert.equal(await count(), before);
  assert.equal((await clerk.get('/organization/audit')).status, 403);
});
