import assert from 'node:assert/strict';
import { test } from 'node:test';
import { caller, quarterdeck } from '../../../../test/harness/index.ts';
import { browserLike, signedIn } from '../../../../test/harness/visitor.ts';
import { run } from '../../../kernel/db/index.ts';
import { endSessions, lockSessions } from '../engine/sessions.ts';
import { approves, asks, claims } from './support.ts';

test('a device code that somebody else approves gives that person’s token, and no link fills it in', async (t) => {
  const qd = await quarterdeck(t);
  const stranger = await qd.organization('elsewhere');
  const theirs = await signedIn(qd, stranger.userId);

  const asked = await asks(qd.anonymous);
  for (const query of [`code=${asked.userCode}`, `user_code=${asked.userCode}`]) {
    const page = await theirs.get(`/device?${query}`);
    assert.equal(page.status, 200);
    assert.ok(!page.text.includes(asked.userCode), 'no link fills in a code');
  }
  const elsewhere = await theirs.post(
    '/device/approve',
    { code: asked.userCode, organization: 'elsewhere', rights: 'everything', days: '30' },
    { 'sec-fetch-site': 'cross-site' },
  );
  assert.equal(elsewhere.status, 403, 'nor does a form of another site');
  assert.equal((await approves(theirs, asked, { organization: 'default' })).status, 403, 'not for an organization of others');
  assert.equal((await approves(theirs, asked, { organization: 'elsewhere' })).status, 200);
  const { body } = await claims(qd.anonymous, asked);
  assert.equal(body.userId, stranger.userId);
  assert.equal((await caller(qd.url, body.key).get('/me')).body.email, stranger.email, 'the program sees whose token it got');

  const signedOut = await browserLike(qd.url).get('/device');
  assert.equal(signedOut.path, '/sign-in?next=%2Fdevice');
});

test('a refusal, an end, a sign-out, a removal and a stale session give no token', async (t) => {
  const qd = await quarterdeck(t);
  const { anonymous: program } = qd;
  const member = await qd.member(qd.owner, 'admin');
  const browser = await signedIn(qd, member.userId);
  const organization = 'default';

  const refused = await asks(program);
  assert.equal((await browser.post('/device/refuse', { code: refused.userCode })).status, 200);
  assert.equal((await claims(program, refused)).code, 'access_denied');
  assert.equal((await approves(browser, refused, { organization })).status, 404, 'a refusal stands');
  const { entries } = (await qd.owner.get('/organization/audit?limit=10')).body;
  assert.ok(
    entries.some((entry: { action: string }) => entry.action === 'account.device.refuse'),
    'and is on record',
  );

  const late = await asks(program);
  assert.equal((await approves(browser, late, { organization })).status, 200);
  await qd.clock.advance('11m');
  assert.deepEqual(await outcome(claims(program, late)), [404, 'expired']);

  await qd.clock.advance('10m');
  assert.match((await browser.get('/device')).path, /^\/sign-in\/again\?next=%2Fdevice$/, 'a session of long ago proves itself first');
  const stale = await asks(program);
  assert.match((await approves(browser, stale, { organization })).path, /^\/sign-in\/again/);
  assert.equal((await claims(program, stale)).code, 'authorization_pending');

  const left = await asks(program);
  const short = await signedIn(qd, member.userId);
  assert.equal((await approves(short, left, { organization })).status, 200);
  await short.post('/sign-out');
  assert.deepEqual(await outcome(claims(program, left)), [403, 'access_denied'], 'the approval falls with its session');

  const waiting = await asks(program);
  const ending = await signedIn(qd, member.userId);
  assert.equal((await approves(ending, waiting, { organization })).status, 200);
  const { sessions } = (await ending.api('GET', '/me/sessions')).body;
  const { id } = sessions.find(({ isCurrent }: { isCurrent: boolean }) => isCurrent);
  let claimed: ReturnType<typeof claims> | undefined;
  await qd.app.db.write(async (tx) => {
    await lockSessions(tx, member.userId, [id]);
    await endSessions(tx, qd.app, { id: member.userId, email: member.email }, [id], { requestId: 'r' });
    claimed = claims(program, waiting);
    await Promise.race([claimed, qd.anonymous.post('/device/codes', {})]);
  });
  assert.deepEqual(await outcome(claimed!), [403, 'access_denied'], 'a fetch that waits for the end of the session finds it ended');

  const removed = await asks(program);
  const again = await signedIn(qd, member.userId);
  assert.equal((await approves(again, removed, { organization })).status, 200);
  assert.equal((await qd.owner.delete(`/organization/members/${member.userId}`)).status, 204);
  assert.deepEqual(await outcome(claims(program, removed)), [403, 'access_denied']);
  assert.deepEqual(await outcome(claims(program, { deviceCode: 'qd_dev_unknown' })), [404, 'not_found']);
});

test('codes are guessed neither by one person nor from one address, and few wait at once', async (t) => {
  const qd = await quarterdeck(t);
  const browser = await signedIn(qd, qd.owner.userId);
  const asked = await asks(qd.anonymous);
  assert.equal((await browser.post('/device', { code: 'nonsense' })).status, 404);
  const guesses = await Promise.all(Array.from({ length: 25 }, () => browser.post('/device', { code: 'BCDF-GHJK' })));
  assert.deepEqual(new Set(guesses.map(({ status }) => status)), new Set([404, 429]));
  assert.equal(guesses.filter(({ status }) => status === 404).length, 20);
  assert.equal((await browser.post('/device', { code: asked.userCode })).status, 429, 'then a right one neither');
  const { userId } = await qd.member(qd.owner, 'member');
  assert.equal((await (await signedIn(qd, userId)).post('/device', { code: asked.userCode })).status, 200, 'others go on');
  await qd.clock.advance('61m');

  await Promise.all(Array.from({ length: 200 }, () => asks(qd.anonymous)));
  assert.equal((await qd.anonymous.post('/device/codes', {})).status, 429);
  await qd.clock.advance('11m');
  await asks(qd.anonymous);

  // Strangers at many addresses keep no person from logging in.
  await qd.app.db.write(
    (tx) => run(tx)`
      insert into account.device_request (id, device_hash, user_code, program, address, created_at, expires_at)
      select 'dvr_' || n, sha256(n::text::bytea), 'x' || n, 'a flood', '203.0.113.' || n % 250, kernel.now(), kernel.now() + interval '10 minutes'
        from generate_series(1, 10000) n`,
  );
  await asks(qd.anonymous);
  for (let n = 0; n < 3; n++) await asks(qd.anonymous);
  assert.equal((await qd.anonymous.post('/device/codes', {})).status, 429, 'each address has a few');
});

const outcome = async (claimed: ReturnType<typeof claims>) => {
  const { status, code } = await claimed;
  return [status, code];
};
