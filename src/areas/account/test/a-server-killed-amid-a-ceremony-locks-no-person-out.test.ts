import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { type Quarterdeck, quarterdeck, type Someone } from '../../../../test/harness/index.ts';
import { atStatement, KillableServers, makeChance } from '../../../../test/harness/kill/index.ts';
import { type BrowserLike, browserLike } from '../../../../test/harness/visitor.ts';
import { type Sql, sql } from '../../../kernel/sql.ts';
import { makeLink } from '../index.ts';
import { passkeysOf } from '../store/passkeys.ts';
import { passkeyTools } from './passkeys.ts';
import { authenticatorApp, givePassword, goodPassword, secretOf, setUpApp, signIn } from './passwords.ts';
import { approves, asks, claims } from './support.ts';

// Each request dies at one of its statements that touch the tables of this area, its commit among them: before the database hears it, or
// after it has answered. Afterwards another process goes on: either nothing of the step is there, or all of it.

/** Its start looks whether the owner has claimed the server: one statement that is not of the request. */
const statementsOfStart = 1;
const another = 'a rather different set of words';

interface Scene {
  qd: Quarterdeck;
  tools: ReturnType<typeof passkeyTools>;
  /** Sends the request to a server that dies at one of so many statements. The browser has the same cookies there. */
  dies(statements: number, browser: BrowserLike, send: (there: BrowserLike, url: string) => Promise<unknown>): Promise<void>;
  newcomer(): Promise<Someone & { browser: BrowserLike }>;
  has(piece: Sql): Promise<boolean>;
}

async function setScene(t: TestContext): Promise<Scene> {
  const qd = await quarterdeck(t);
  const tools = passkeyTools(qd);
  const chance = makeChance(t);
  const servers = new KillableServers(t, { dir: qd.dataDir, dataDir: qd.dataDir, connection: qd.connection });
  let people = 0;
  return {
    qd,
    tools,
    dies: async (statements, browser, send) => {
      const point = `${chance.below(2) ? 'before' : 'after'}:${1 + statementsOfStart + chance.below(statements)}`;
      const url = (await servers.start(0, atStatement('account', point)).ready).replace('127.0.0.1', 'localhost');
      const there = browserLike(url);
      for (const [name, value] of browser.cookies) there.cookies.set(name, value);
      await send(there, url).catch(() => undefined);
      assert.ok(await servers.diesWithin(10_000), `a statement ${point}`);
    },
    newcomer: async () => {
      const someone = await qd.member(qd.owner, 'member', `newcomer-${people++}@example.com`);
      return { ...someone, browser: await tools.signedIn(qd, someone.userId) };
    },
    has: (piece) => qd.app.db.read(async (tx) => (await tx.query(piece)).rowCount > 0),
  };
}

const ceremonies: Record<string, (scene: Scene) => Promise<void>> = {
  'a link signs in or is unused': async ({ qd, tools, dies, newcomer }) => {
    const { userId, email } = await newcomer();
    const { secret } = await qd.app.db.write((tx) => makeLink(tx, userId, 'operator'));
    const path = `/sign-in/link/${secret}`;
    await dies(5, tools.visitor(), (there) => there.post(path));
    const next =
      (await tools.visitor().get(path)).status === 200 ? secret : (await qd.app.db.write((tx) => makeLink(tx, userId, 'operator'))).secret;
    const browser = tools.visitor();
    assert.equal((await browser.post(`/sign-in/link/${next}`)).path, '/account');
    assert.equal((await browser.api('GET', '/me')).body.email, email);
  },

  'a password signs in': async ({ qd, tools, dies, newcomer }) => {
    const ada = await newcomer();
    await givePassword(qd, ada);
    await dies(9, tools.visitor(), (there) => signIn(there, ada.email));
    assert.equal((await signIn(tools.visitor(), ada.email)).path, '/account');
  },

  'a code signs in or is unused': async ({ qd, tools, dies, newcomer, has }) => {
    const ada = await newcomer();
    await givePassword(qd, ada);
    const { app } = await setUpApp(qd, ada.browser);
    const browser = tools.visitor();
    await signIn(browser, ada.email);
    const code = await app.next();
    await dies(9, browser, (there) => there.post('/sign-in/second', { code }));
    const isOver = !(await has(sql`select from account.pending_sign_in where user_id = ${ada.userId}`));
    const again = await browser.post('/sign-in/second', { code });
    assert.equal(again.path, isOver ? '/sign-in/second' : '/account');
    const fresh = tools.visitor();
    await signIn(fresh, ada.email);
    assert.equal((await fresh.post('/sign-in/second', { code: await app.next() })).path, '/account');
  },

  'a passkey signs in, or its challenge is unused': async ({ qd, tools, dies, newcomer }) => {
    const ada = await newcomer();
    assert.equal((await tools.add(ada.browser)).status, 200);
    const browser = tools.visitor();
    const { publicKey } = (await tools.ask(browser, '/sign-in/passkey/options')).body;
    await dies(6, browser, (there, url) => there.post('/sign-in/passkey', { credential: tools.use(publicKey, { origin: url }) }));
    const again = await tools.ask(browser, '/sign-in/passkey', { credential: tools.use(publicKey) });
    assert.ok([200, 409].includes(again.status), JSON.stringify(again));
    assert.equal((await tools.signIn(tools.visitor())).status, 200);
    assert.equal((await qd.app.db.read((tx) => passkeysOf(tx, ada.userId))).length, 1);
  },

  'a passkey is added or is not': async ({ qd, tools, dies, newcomer }) => {
    const ada = await newcomer();
    const { publicKey } = (await tools.ask(ada.browser, '/account/passkeys/options')).body;
    await dies(4, ada.browser, (there, url) =>
      there.post('/account/passkeys', { name: 'a key', credential: tools.create(publicKey, { origin: url }) }),
    );
    const isThere = (await qd.app.db.read((tx) => passkeysOf(tx, ada.userId))).length === 1;
    const { methods } = (await ada.browser.api('GET', '/me')).body.session;
    assert.equal(methods.includes('passkey'), isThere, 'the session has it with the passkey, or not at all');
    if (!isThere) assert.equal((await tools.add(ada.browser)).status, 200);
    assert.equal((await tools.signIn(tools.visitor())).status, 200);
  },

  'an authenticator app is begun or is not, and is no hindrance': async ({ qd, tools, dies, newcomer }) => {
    const ada = await newcomer();
    await givePassword(qd, ada);
    await dies(3, ada.browser, (there) => there.post('/account/second-factor/begin'));
    assert.equal((await signIn(tools.visitor(), ada.email)).path, '/account', 'no code is asked for');
    assert.equal((await setUpApp(qd, ada.browser)).codes.length, 10);
  },

  'an authenticator app is on or off': async ({ qd, tools, dies, newcomer, has }) => {
    const ada = await newcomer();
    await givePassword(qd, ada);
    const app = authenticatorApp(qd, secretOf(await ada.browser.post('/account/second-factor/begin')));
    const code = await app.next();
    await dies(5, ada.browser, (there) => there.post('/account/second-factor/confirm', { code }));
    const isOn = await has(sql`select from account.totp where user_id = ${ada.userId} and confirmed_at is not null`);
    const hasCodes = await has(sql`select from account.recovery_code where user_id = ${ada.userId}`);
    assert.equal(hasCodes, isOn, 'recovery codes are there with the app, or not at all');
    const browser = tools.visitor();
    const shown = await signIn(browser, ada.email);
    assert.equal(shown.path, isOn ? '/sign-in/second?next=%2Faccount' : '/account');
    if (isOn) assert.equal((await browser.post('/sign-in/second', { code: await app.next() })).path, '/account');
    const made = await ada.browser.post(`/account/second-factor/${isOn ? 'codes' : 'confirm'}`, isOn ? {} : { code: await app.next() });
    assert.equal(made.text.match(/\b[A-Z2-7]{4}(-[A-Z2-7]{4}){3}\b/g)?.length, 10, 'codes that were not seen are made anew');
  },

  'a session is proven again': async ({ qd, tools, dies, newcomer }) => {
    const ada = await newcomer();
    await givePassword(qd, ada);
    const browser = tools.visitor();
    await signIn(browser, ada.email);
    await qd.clock.advance('16m');
    await dies(7, browser, (there) => there.post('/sign-in/again', { password: goodPassword }));
    assert.equal((await browser.post('/sign-in/again', { password: goodPassword, next: '/account/password' })).path, '/account/password');
  },

  'a password is changed with all that follows, or is not': async ({ qd, tools, dies, newcomer }) => {
    const ada = await newcomer();
    await givePassword(qd, ada);
    const elsewhere = tools.visitor();
    await signIn(elsewhere, ada.email);
    await dies(3, ada.browser, (there) => there.post('/account/password', { password: another, repeated: another }));
    const isChanged = (await signIn(tools.visitor(), ada.email, another)).path === '/account';
    assert.equal((await elsewhere.api('GET', '/me')).status, isChanged ? 401 : 200);
    if (!isChanged) assert.equal((await signIn(tools.visitor(), ada.email)).path, '/account');
    assert.equal((await ada.browser.api('GET', '/me')).status, 200);
  },

  'a reset sets the password and ends sessions, or its link is unused': async ({ qd, tools, dies, newcomer, has }) => {
    const ada = await newcomer();
    const { secret } = await qd.app.db.write((tx) => makeLink(tx, ada.userId, 'reset'));
    await dies(6, tools.visitor(), (there) => there.post(`/sign-in/reset/${secret}`, { password: goodPassword }));
    const isSet = await has(sql`select from account.password where user_id = ${ada.userId}`);
    const shown = await tools.visitor().get(`/sign-in/reset/${secret}`);
    assert.deepEqual([shown.status, (await ada.browser.api('GET', '/me')).status], isSet ? [404, 401] : [200, 200]);
    if (!isSet) assert.equal((await tools.visitor().post(`/sign-in/reset/${secret}`, { password: goodPassword })).path, '/account');
    assert.equal((await signIn(tools.visitor(), ada.email)).path, '/account');
  },

  'an address is changed or its link is unused': async ({ qd, dies, newcomer }) => {
    const ada = await newcomer();
    const { secret } = await qd.app.db.write((tx) => makeLink(tx, ada.userId, 'address', 'ada-anew@example.com'));
    await dies(4, ada.browser, (there) => there.post(`/account/address/${secret}`));
    const isChanged = (await ada.browser.api('GET', '/me')).body.email === 'ada-anew@example.com';
    const again = await ada.browser.post(`/account/address/${secret}`);
    assert.equal(again.status, isChanged ? 404 : 200);
    assert.equal((await ada.browser.api('GET', '/me')).body.email, 'ada-anew@example.com');
  },

  'an invitation joins or is open': async ({ qd, tools, dies }) => {
    const { body } = await qd.owner.post('/organization/invitations', { email: 'bob@example.com' });
    const path = new URL(body.link).pathname;
    await dies(2, tools.visitor(), (there) => there.post(path, { name: 'Bob' }));
    const { members } = (await qd.owner.get('/organization/members')).body as { members: { email: string; userId: string }[] };
    const bob = members.find(({ email }) => email === 'bob@example.com');
    assert.equal((await tools.visitor().get(path)).status, bob ? 404 : 200);
    const browser = bob ? await tools.signedIn(qd, bob.userId) : tools.visitor();
    if (!bob) assert.equal((await browser.post(path, { name: 'Bob' })).path, '/account');
    assert.equal((await browser.api('GET', '/me')).body.email, 'bob@example.com');
  },

  'a program is approved or waits': async ({ qd, dies, newcomer }) => {
    const { browser, userId } = await newcomer();
    const asked = await asks(qd.anonymous);
    await dies(6, browser, (there) => approves(there, asked, { organization: 'default' }));
    const claimed = await claims(qd.anonymous, asked);
    assert.ok(claimed.status === 201 || claimed.code === 'authorization_pending', JSON.stringify(claimed));
    if (claimed.status === 201) return assert.equal(claimed.body.userId, userId);
    assert.equal((await approves(browser, asked, { organization: 'default' })).status, 200);
    assert.equal((await claims(qd.anonymous, asked)).status, 201);
  },

  'a token is fetched, or its approval is unused': async ({ qd, dies, newcomer }) => {
    const { browser } = await newcomer();
    const asked = await asks(qd.anonymous);
    assert.equal((await approves(browser, asked, { organization: 'default' })).status, 200);
    await dies(3, browserLike(qd.url), (there) => there.api('POST', '/device/tokens', { deviceCode: asked.deviceCode }));
    const { tokens } = (await browser.api('GET', '/tokens')).body as { tokens: { name: string }[] };
    const claimed = await claims(qd.anonymous, asked);
    const isMinted = tokens.some(({ name }) => name === 'quarterdeck on a laptop');
    assert.equal(claimed.status, isMinted ? 404 : 201, 'one token, never two');
  },
};

test('a server killed at any statement of a ceremony leaves nothing half done, and no person locked out', {
  timeout: 240_000,
}, async (t) => {
  const scene = await setScene(t);
  for (const [what, act] of Object.entries(ceremonies)) await t.test(what, () => act(scene));
});
