import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import { connect as connectTls } from 'node:tls';
import { mintKey } from '../../../../../identity/token-format.ts';
import { smtpDoor } from '../../../test/smtp-scene.ts';

const plain = (user: string, secret: string) => `AUTH PLAIN ${Buffer.from(`\0${user}\0${secret}`).toString('base64')}`;

test('a login needs a valid send key', async (t) => {
  const { keys, stored, speak } = await smtpDoor(t);
  const { secret, keyId } = keys.mint();

  await t.test('nothing is taken before a login', async () => {
    const client = await speak();
    assert.match(await client.say('MAIL FROM:<ada@example.com>'), /^503/);
    const offered = await client.say('EHLO x');
    assert.match(offered, /250[- ]STARTTLS/);
    assert.match(offered, /250[- ]SIZE 26214400/);
    assert.match(offered, /250[- ]AUTH PLAIN LOGIN/);
    assert.match(offered, /250[- ]ENHANCEDSTATUSCODES/);
    assert.doesNotMatch(offered, /SMTPUTF8/);
    assert.match(await client.say('MAIL FROM:<ada@example.com>'), /^530 5\.7\.0 log in first/);
    assert.match(await client.say('RCPT TO:<bob@far.example>'), /^530/);
    assert.match(await client.say('DATA'), /^530/);
    assert.match(await client.say('XCLIENT ADDR=1.2.3.4 LOGIN=root'), /^500/);
  });

  await t.test('a wrong user name, a key of another kind, and one without entitlement are refused', async () => {
    const client = await speak();
    await client.say('EHLO x');
    assert.match(await client.say(plain('somebody', secret)), /^535 5\.7\.8 user name and password are no send key/);
    assert.match(await client.say(plain(keyId, mintKey('pat').key)), /^535 5\.7\.8/);
    const other = await speak();
    await other.say('EHLO x');
    assert.match(await other.say(plain('apikey', keys.mint({ entitled: false }).secret)), /^535 5\.7\.8 Email is not enabled/);
  });

  await t.test('a guessing client is disconnected after three logins, and its address after sixty', async () => {
    const answers: string[] = [];
    const isKnown = (answer: string) => /^421 4\.7\.0 too many failed authentications from this address/.test(answer);
    for (let i = 0; i < 300 && !answers.some(isKnown); i++) {
      const client = await speak();
      await client.say('EHLO x');
      for (let k = 0; k < 3 && !client.socket.destroyed; k++) answers.push(await client.say(plain('apikey', mintKey('mail').key)));
      await client.closed;
    }
    assert.match(answers[2]!, /^421 4\.7\.0 too many wrong logins/);
    assert.ok(answers.some(isKnown));
  });

  await t.test('commands in plain text after STARTTLS are ignored', async () => {
    const client = await speak();
    await client.say('EHLO x');
    client.socket.write('STARTTLS\r\nEHLO injected\r\nMAIL FROM:<eve@evil.example>\r\n');
    assert.match(await client.hear(), /^220/);
    client.socket.removeAllListeners('data');
    const secure = connectTls({ socket: client.socket, rejectUnauthorized: false });
    t.after(() => secure.destroy());
    await once(secure, 'secureConnect');
    secure.write('NOOP\r\n');
    const [answer] = await once(secure, 'data');
    assert.match(String(answer), /^250 2\.0\.0 OK\r\n$/);
  });

  assert.deepEqual(stored, []);
});
