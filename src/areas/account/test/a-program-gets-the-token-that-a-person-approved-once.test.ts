import assert from 'node:assert/strict';
import { test } from 'node:test';
import { caller, quarterdeck } from '../../../../test/harness/index.ts';
import { signedIn } from '../../../../test/harness/visitor.ts';
import { approves, asks, claims } from './support.ts';

test('a program gets the token that a person approved, once, at whichever process it asks', async (t) => {
  const qd = await quarterdeck(t);
  const other = await quarterdeck(t, { connection: qd.connection, dataDir: qd.dataDir });
  const browser = await signedIn(qd, qd.owner.userId);

  const asked = await asks(qd.anonymous, 'quarterdeck on\n\u202e<b>a laptop</b>');
  assert.match(asked.userCode, /^[BCDFGHJKLMNPQRSTVWXZ]{4}-[BCDFGHJKLMNPQRSTVWXZ]{4}$/);
  assert.equal(asked.verificationUrl, `${qd.url.replace('127.0.0.1', 'localhost')}/device`, 'a passkey does not bind to an address');
  assert.deepEqual(pick(await claims(other.anonymous, asked)), [409, 'authorization_pending']);
  assert.deepEqual(pick(await claims(qd.anonymous, asked)), [409, 'slow_down'], 'all processes count the pause');
  await qd.clock.advance('5s');
  assert.deepEqual(pick(await claims(qd.anonymous, asked)), [409, 'authorization_pending']);

  const shown = await browser.post('/device', { code: asked.userCode.toLowerCase().replace('-', ' ') });
  assert.equal(shown.status, 200, shown.text);
  assert.ok(shown.text.includes('quarterdeck on &#60;b&#62;a laptop') && shown.text.includes('127.0.0.1'), 'what asks, and from where');
  assert.equal((await approves(browser, asked, { organization: 'default' })).status, 200);
  assert.equal((await approves(browser, asked, { organization: 'default' })).status, 404, 'approved once');

  const both = await Promise.all([claims(qd.anonymous, asked), claims(other.anonymous, asked)]);
  assert.deepEqual(both.map(({ status }) => status).sort(), [201, 404], 'of two fetches at once, one');
  const { body } = both.find(({ status }) => status === 201)!;
  assert.equal(body.orgSlug, 'default');
  const me = await caller(other.url, body.key).get('/me');
  assert.equal(me.body.email, qd.owner.email);
  const [token] = (await qd.owner.get('/tokens')).body.tokens;
  assert.deepEqual([token.id, token.name, token.expiresAt], [body.tokenId, 'quarterdeck on <b>a laptop</b>', body.expiresAt]);
  assert.ok(!('mintedBy' in token), 'it does not end with the session');

  const { entries } = (await qd.owner.get('/organization/audit?limit=5')).body;
  const actions = entries.map((entry: { action: string }) => entry.action);
  assert.ok(actions.includes('account.device.approve') && actions.includes('tokens.token.create'), actions.join());
});

test('an approval that was narrowed gives a token that is narrowed', async (t) => {
  const qd = await quarterdeck(t);
  const browser = await signedIn(qd, qd.owner.userId);
  const fetched = async (fields: Record<string, string>) => {
    const asked = await asks(qd.anonymous);
    assert.equal((await approves(browser, asked, { organization: 'default', ...fields })).status, 200);
    const { body } = await claims(qd.anonymous, asked);
    return caller(qd.url, body.key);
  };
  const statuses = async (program: ReturnType<typeof caller>) => [
    (await program.get('/uptime/monitors')).status,
    (await program.get('/oncall/schedules')).status,
    (await program.post('/oncall/services', { name: `s${Math.random()}` })).status,
    (await program.post('/organization/invitations', { email: 'x@example.com' })).status,
  ];
  assert.deepEqual(await statuses(await fetched({ rights: 'everything', days: '365' })), [200, 200, 201, 201]);
  assert.deepEqual(await statuses(await fetched({ rights: 'see' })), [200, 200, 403, 403]);
  assert.deepEqual(await statuses(await fetched({ rights: 'roles', 'role.oncall.editor': 'on' })), [403, 200, 201, 403]);

  const asked = await asks(qd.anonymous);
  for (const [fields, status] of [
    [{ rights: 'roles' }, 400],
    [{ rights: 'roles', 'role.owner': 'on' }, 400],
    [{ rights: 'all' }, 400],
    [{ rights: 'constructor' }, 400],
    [{ rights: 'everything', 'role.uptime.viewer': 'on' }, 400],
    [{ days: '3650' }, 400],
    [{ organization: 'elsewhere' }, 403],
  ] as const)
    assert.equal((await approves(browser, asked, { organization: 'default', ...fields })).status, status, JSON.stringify(fields));
  assert.equal((await claims(qd.anonymous, asked)).code, 'authorization_pending', 'a wrong choice approves nothing');

  const plain = await qd.member(qd.owner, 'member');
  const poor = await signedIn(qd, plain.userId);
  const refused = await approves(poor, asked, { organization: 'default', rights: 'roles', 'role.oncall.admin': 'on' });
  assert.equal(refused.status, 403, 'a person gives only what they hold');
});

const pick = ({ status, code }: { status: number; code: string | null }) => [status, code];
