import assert from 'node:assert/strict';
import { test } from 'node:test';
import { quarterdeck } from '../../../../test/harness/index.ts';
import { signedIn } from '../../../../test/harness/visitor.ts';
import { insertPasskey, passkeysOf } from '../store/passkeys.ts';
import { passkeyTools } from './passkeys.ts';

test('a passkey is for a host name, an ended session adds none, and of the last two one stays', async (t) => {
  const qd = await quarterdeck(t);
  const tools = passkeyTools(qd);
  const { port } = new URL(qd.url);
  const numbered = await signedIn(qd, qd.owner.userId);
  const open = `http://localhost:${port}/account/passkeys`;
  assert.ok((await numbered.get('/account/passkeys')).text.includes(`Open <a href="${open}">${open}</a> instead`));
  assert.equal((await tools.ask(numbered, '/account/passkeys/options')).body.open, open);
  assert.equal((await tools.ask(numbered, '/sign-in/passkey/options')).body.open, `http://localhost:${port}/sign-in`);

  const browser = await tools.signedIn(qd, qd.owner.userId);
  const { body } = await tools.ask(browser, '/account/passkeys/options');
  const cookies = new Map(browser.cookies);
  await browser.post('/sign-out');
  for (const [name, value] of cookies) browser.cookies.set(name, value);
  const ended = await tools.ask(browser, '/account/passkeys', { credential: tools.create(body.publicKey) });
  assert.deepEqual([ended.status, ended.body.next], [403, '/sign-in?next=%2Faccount%2Fpasskeys']);

  const again = await tools.signedIn(qd, qd.owner.userId);
  for (const name of ['one', 'two']) assert.equal((await tools.add(again, name)).status, 200);
  const listed = await qd.app.db.read((tx) => passkeysOf(tx, qd.owner.userId));
  const removed = await Promise.all(listed.map(({ id }) => again.post(`/account/passkeys/${id}/remove`)));
  assert.deepEqual(removed.map(({ status }) => status).sort(), [200, 409], 'of two removals at once, one');
  const [left] = await qd.app.db.read((tx) => passkeysOf(tx, qd.owner.userId));
  const elsewhere = {
    credentialId: Buffer.alloc(16),
    publicKey: Buffer.alloc(1),
    counter: 0,
    transports: [],
    isBackedUp: false,
    name: 'old',
  };
  await qd.app.db.write((tx) => insertPasskey(tx, { ...elsewhere, userId: qd.owner.userId, rpId: 'old.example' }));
  assert.match((await again.get('/account/passkeys')).text, /works on old\.example only, not this address/);
  const gone = await again.post(`/account/passkeys/${left!.id}/remove`);
  assert.equal(gone.status, 409, 'a passkey of another host is no way in here');

  for (let made = 2; made < 20; made++) assert.equal((await tools.add(again, `key ${made}`)).status, 200);
  assert.match((await tools.add(again)).body.error, /you have 20 passkeys; remove one first/);
});
