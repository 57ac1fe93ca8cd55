import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Answer, caller, quarterdeck, type Someone } from '../../../../test/harness/index.ts';
import { browserLike } from '../../../../test/harness/visitor.ts';

const invite = async (as: Someone, email: string, role?: string): Promise<{ id: string; link: string; secret: string }> => {
  const { status, body, headers } = await as.post('/organization/invitations', { email, ...(role ? { role } : {}) });
  assert.equal(status, 201, JSON.stringify(body));
  assert.equal(headers.get('location'), `/api/v1/organization/invitations/${body.invitation.id}`);
  return { id: body.invitation.id, link: body.link, secret: body.link.split('/').pop() };
};
const members = async (as: Someone) => (await as.get('/organization/members')).body.members.map((m: { email: string }) => m.email).sort();

test('the link opens a page: looking at it changes nothing, pressing the button joins, once', async (t) => {
  const { owner, url } = await quarterdeck(t);
  const { link } = await invite(owner, 'bob@example.com');
  assert.match(link, new RegExp(`^${url.replace('127.0.0.1', 'localhost')}/join/qd_inv_[0-9A-Za-z]{38}$`));

  for (let n = 0; n < 3; n++) {
    const page = await fetch(link); // mail scanners follow links
    assert.equal(page.status, 200);
    assert.match(page.headers.get('content-type')!, /^text\/html/);
    assert.match(page.headers.get('content-security-policy')!, /default-src 'none'/);
    const text = await page.text();
    for (const told of ['bob@example.com', 'owner@localhost', 'default', 'as member', '<button>Join</button>'])
      assert.ok(text.includes(told), told);
  }
  assert.equal((await fetch(link, { method: 'HEAD' })).status, 200);
  assert.deepEqual(await members(owner), ['owner@localhost']);

  assert.equal((await fetch(link, { method: 'POST' })).status, 403, 'only a page of this server joins');
  const browser = browserLike(url);
  const joined = await browser.post(new URL(link).pathname, { name: ' bob ' });
  assert.deepEqual([joined.status, joined.path], [200, '/account']);
  assert.match(joined.text, /add a passkey.*choose a password/);
  const me = (await browser.api('GET', '/me')).body;
  assert.deepEqual([me.email, me.name, me.organizations[0].role], ['bob@example.com', 'bob', 'member']);
  assert.deepEqual(await members(owner), ['bob@example.com', 'owner@localhost']);

  assert.deepEqual((await browser.api('GET', '/tokens')).body.tokens, [], 'a session needs no first token');

  const again = await browserLike(url).post(new URL(link).pathname);
  assert.equal(again.status, 404);
  assert.match(again.text, /Unknown invitation, or one that was used or has expired; ask for a new one/);
  assert.equal((await owner.get('/organization/invitations')).body.invitations.length, 0);
});

test('however many press the button at once, one joins', async (t) => {
  const { owner, anonymous } = await quarterdeck(t);
  const { secret } = await invite(owner, 'bob@example.com');
  const statuses = (await Promise.all(Array.from({ length: 6 }, () => anonymous.post('/organization/invitations/accept', { secret })))).map(
    (a) => a.status,
  );
  assert.deepEqual(statuses.filter((s) => s === 201).length, 1);
  assert.ok(
    statuses.every((s) => s === 201 || s === 404 || s === 409),
    String(statuses),
  );
  assert.equal((await members(owner)).length, 2);
});

test('a link ends after seven days, when it is withdrawn, and when a newer one is made for the address', async (t) => {
  const { owner: short, anonymous, clock, url } = await quarterdeck(t);
  const owner = { ...short, ...caller(url, (await short.post('/tokens', { name: 'for weeks', expiresIn: 30 * 86_400 })).body.key) };
  const accept = ({ secret }: { secret: string }): Promise<Answer> => anonymous.post('/organization/invitations/accept', { secret });

  const withdrawn = await invite(owner, 'bob@example.com');
  assert.equal((await owner.delete(`/organization/invitations/${withdrawn.id}`)).status, 204);
  assert.equal((await owner.delete(`/organization/invitations/${withdrawn.id}`)).status, 404);
  assert.equal((await accept(withdrawn)).status, 404);

  const replaced = await invite(owner, 'bob@example.com');
  const newer = await invite(owner, 'BOB@example.com', 'admin');
  assert.equal((await accept(replaced)).status, 404);
  assert.deepEqual(
    (await owner.get('/organization/invitations')).body.invitations.map((i: { id: string }) => i.id),
    [newer.id],
  );

  await clock.advance('6d');
  const late = await invite(owner, 'eve@example.com');
  await clock.advance('2d');
  const expired = await accept(newer);
  assert.equal(expired.status, 404);
  assert.match(expired.body.error, /has expired; ask for a new one/);
  assert.equal((await owner.delete(`/organization/invitations/${newer.id}`)).status, 404);
  assert.equal((await accept(late)).status, 201);

  for (const secret of ['x', newer.secret.slice(0, -1), 'qd_inv_'.padEnd(45, '0'), owner.key])
    assert.equal((await anonymous.post('/organization/invitations/accept', { secret })).status, 404, secret);
});

test('an account that exists speaks for itself: the link alone does not, another account’s token neither', async (t) => {
  const { owner, anonymous, organization, member, narrowed, url } = await quarterdeck(t);
  const ada = await organization('ada');
  const eve = await member(owner, 'admin', 'eve@example.com');
  const { secret, link } = await invite(owner, ada.email.toUpperCase());

  const alone = await anonymous.post('/organization/invitations/accept', { secret });
  assert.equal(alone.status, 409);
  assert.match(alone.body.error, /already has an account here; sign in to it and open the link, or accept with a token of it/);
  assert.equal((await browserLike(url).post(new URL(link).pathname)).status, 409);

  const other = await eve.post('/organization/invitations/accept', { secret });
  assert.equal(other.status, 403);
  assert.match(other.body.error, /for another account/);
  const narrow = await narrowed(ada, [{ role: 'uptime.viewer' }]);
  assert.equal((await narrow.post('/organization/invitations/accept', { secret })).status, 403);

  const joined = await ada.post('/organization/invitations/accept', { secret });
  assert.equal(joined.status, 201);
  assert.equal(joined.body.userId, ada.userId);
  const inDefault = caller(url, joined.body.key);
  assert.equal((await inDefault.get('/me')).body.organizations[0].slug, 'default');
  assert.equal((await ada.get('/me')).body.organizations[0].slug, 'ada'); // each token stays in its organization
  assert.equal((await owner.post('/organization/invitations', { email: ada.email })).status, 409); // a member already

  // A token of somebody’s does not make an account for somebody else either.
  const fresh = await invite(owner, 'new@example.com');
  assert.equal((await ada.post('/organization/invitations/accept', { secret: fresh.secret })).status, 403);
});

test('a member cannot invite above their own role, and other organizations’ invitations do not exist', async (t) => {
  const { owner, organization, member } = await quarterdeck(t);
  const admin = await member(owner, 'admin');
  const clerk = await member(owner, 'member');
  const other = await organization('other');

  const above = await admin.post('/organization/invitations', { email: 'x@example.com', role: 'owner' });
  assert.equal(above.status, 403);
  assert.match(above.body.error, /only those who hold the role owner can give it or take it away/);
  assert.equal((await clerk.post('/organization/invitations', { email: 'x@example.com' })).status, 403);
  const { id } = await invite(owner, 'x@example.com', 'owner');
  assert.equal((await admin.delete(`/organization/invitations/${id}`)).status, 403);
  assert.equal((await other.delete(`/organization/invitations/${id}`)).status, 404);
  assert.equal((await clerk.get('/organization/invitations')).status, 403);
});
