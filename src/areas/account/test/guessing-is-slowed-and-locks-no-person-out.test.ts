import assert from 'node:assert/strict';
import { test } from 'node:test';
import { quarterdeck } from '../../../../test/harness/index.ts';
import { eventually } from '../../../../test/harness/process.ts';
import { browserLike, signedIn } from '../../../../test/harness/visitor.ts';
import { countGuess } from '../engine/guesses.ts';
import { hashesMade } from '../engine/hashing.ts';
import { givePassword, goodPassword, listenToStatements, setUpApp, signedInByPassword, signIn } from './passwords.ts';

const wrong = 'wrong horse battery staple';

test('guessing is slowed, and locks no person out', async (t) => {
  // The test stands for the operator's proxy, so that each guess can come from an address of its own.
  const env = { QUARTERDECK_TRUSTED_PROXIES: '127.0.0.1' };
  const qd = await quarterdeck(t, { env });
  const other = await quarterdeck(t, { env, connection: qd.connection, dataDir: qd.dataDir });
  const { owner } = qd;
  await givePassword(qd, owner);
  const known = await signedInByPassword(qd, owner.email);
  await known.post('/sign-out');
  let lastAddress = 0;
  const guess = (email: string, password: string, address = `203.0.113.${++lastAddress}`, server = qd) =>
    browserLike(server.url).post('/sign-in', { email, password }, { 'x-forwarded-for': address, 'x-forwarded-proto': 'https' });
  const countOf = (statuses: number[]) =>
    Object.fromEntries(Object.entries(Object.groupBy(statuses, String)).map(([k, v]) => [k, v!.length]));

  await t.test('of many guesses at once from many addresses, ten cost a hash, on all servers together', async () => {
    const before = hashesMade();
    const all = await Promise.all(Array.from({ length: 30 }, (_, i) => guess(owner.email, wrong, undefined, i % 2 ? qd : other)));
    const statuses = countOf(all.map(({ status }) => status));
    assert.equal(statuses[401], 10);
    assert.equal(hashesMade() - before, 10);
    const refused = all.find(({ status }) => status === 429)!;
    assert.match(
      refused.text,
      /role="alert">Too many wrong passwords for this address; sign in with a passkey, with a link, or in a browser/,
    );
    assert.ok(Number(refused.headers.get('retry-after')) > 3_000);
  });

  await t.test('an unknown address is refused alike', async () => {
    const statuses: number[] = [];
    const texts = new Set<string>();
    for (let i = 0; i < 12; i++) {
      const { status, text } = await guess(i % 2 ? 'Nobody@example.com' : 'nobody@example.com', wrong);
      statuses.push(status);
      texts.add(/role="alert">([^;]+);/.exec(text)![1]!);
    }
    assert.deepEqual(statuses, [...Array(10).fill(401), 429, 429]);
    assert.deepEqual([...texts], ['The address or the password is wrong', 'Too many wrong passwords for this address']);
  });

  await t.test('the guess after which further ones are refused costs an unknown address as much', async () => {
    // Without a worker: what a job does later is no work of the answer.
    const asked = await quarterdeck(t, { env: { ...env, QUARTERDECK_ROLES: 'api' }, connection: qd.connection, dataDir: qd.dataDir });
    const { email, userId } = await qd.member(await qd.organization('elsewhere'), 'member', 'tenth@example.com');
    await givePassword(qd, { email, userId });
    const statements = listenToStatements(asked, /\b(?:account|identity)\.|insert into kernel\.job\b/);
    const costs = async (of: string) => {
      const each: number[] = [];
      for (let i = 0; i < 11; i++) {
        const before = statements();
        await guess(of, wrong, undefined, asked);
        each.push(statements() - before);
      }
      return each;
    };
    assert.deepEqual(await costs(email), await costs('nobody-else@example.com'));
    await asked.stop();
  });

  await t.test('the owner still signs in: in a browser used before, and by a link', async () => {
    assert.equal((await guess(owner.email, goodPassword)).status, 429, 'the right password in a stranger’s browser waits');
    assert.equal((await signIn(known, owner.email)).path, '/account');
    await signedIn(qd, owner.userId);
    await known.post('/sign-out');
    assert.equal((await signIn(known, owner.email)).path, '/account', 'the browser stays known');
    const cookie = known.cookies.get('qd_known')!;
    for (let i = 0; i < 10; i++) assert.equal((await signIn(known, owner.email, wrong)).status, 401);
    const { text, status } = await signIn(known, owner.email);
    assert.equal(status, 429, 'a known browser has ten of its own');
    assert.match(text, /in this browser; sign in with a passkey or a link/);
    const stranger = browserLike(qd.url);
    stranger.cookies.set('qd_known', cookie);
    assert.equal((await signIn(stranger, 'nobody@example.com', wrong)).status, 429, 'it is known to its person alone');
  });

  await t.test('refusals are on record, once', async () => {
    const recorded = async () =>
      JSON.stringify((await owner.get('/organization/audit?limit=100')).body).match(/account\.guesses\.refuse/g)?.length ?? 0;
    await eventually(async () => (await recorded()) === 2); // strangers, and the known browser
  });

  await t.test('an hour later it is over, and right passwords use nothing up', async () => {
    await qd.clock.advance('61m');
    for (let i = 0; i < 11; i++) assert.equal((await guess(owner.email, goodPassword)).path, '/account');
    assert.equal((await guess(owner.email, wrong)).status, 401);
  });

  await t.test('an address has sixty failures, whatever it guesses at', async () => {
    const address = '198.51.100.7';
    for (let i = 0; i < 58; i++)
      await qd.app.db.write((tx) => countGuess(tx, { kind: 'account', email: `somebody-${i}@example.com` }, address));
    const statuses: number[] = [];
    for (let i = 0; i < 4; i++) statuses.push((await guess(`another-${i}@example.com`, wrong, address)).status);
    assert.deepEqual(statuses, [401, 401, 429, 429]);
    assert.equal((await guess(owner.email, goodPassword, '198.51.100.8')).path, '/account', 'another address is not concerned');
    assert.equal(
      (
        await known.post(
          '/sign-in',
          { email: owner.email, password: goodPassword },
          { 'x-forwarded-for': address, 'x-forwarded-proto': 'https' },
        )
      ).path,
      '/account',
      'nor is a browser used before',
    );
  });

  await t.test('codes are counted for the account: beginning anew gives no more of them', async () => {
    await qd.clock.advance('61m');
    const browser = await signedIn(qd, owner.userId);
    const { app } = await setUpApp(qd, browser);
    const begun = browserLike(qd.url);
    await signIn(begun, owner.email);
    for (let i = 0; i < 10; i++) await qd.app.db.write((tx) => countGuess(tx, { kind: 'account', email: owner.email }, `203.0.113.${i}`));
    assert.equal((await begun.post('/sign-in/second', { code: await app.next() })).path, '/account', 'wrong passwords hold up no code');

    await qd.clock.advance('61m');
    const statuses: number[] = [];
    for (let i = 0; i < 3; i++) {
      const guessing = browserLike(qd.url);
      await signIn(guessing, owner.email);
      for (let n = 0; n < 4; n++) statuses.push((await guessing.post('/sign-in/second', { code: '000000' })).status);
    }
    assert.deepEqual(statuses, [...Array(10).fill(401), 429, 429]);
    await signIn(begun, owner.email);
    assert.equal((await begun.post('/sign-in/second', { code: await app.next() })).path, '/account', 'a browser used before has its own');
  });
});
