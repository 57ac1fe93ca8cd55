import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import { connect } from 'node:tls';
import { smtpDoor } from '../../../test/smtp-scene.ts';

const message = 'From: ada@example.com\r\n\r\nhi\r\n.';

test('a session lasts as long as its key', async (t) => {
  const { keys, stored, speak, hooks } = await smtpDoor(t);

  await t.test('a revoked key ends its sessions, also one that waits', async () => {
    const { secret } = keys.mint();
    const [first, second] = [await speak(), await speak()];
    await first.beginMessage(secret);
    await second.say('EHLO x');
    await second.say(`AUTH PLAIN ${Buffer.from(`\0apikey\0${secret}`).toString('base64')}`);
    keys.revoke(secret);
    assert.match(await second.hear(), /^421 4\.7\.0 the send key was revoked/);
    assert.match(await first.hear(), /^421 4\.7\.0 the send key was revoked/);
    await Promise.all([first.closed, second.closed]);
    assert.deepEqual(stored, []);
  });

  await t.test('also one that logged in with it twice, before TLS and under it', async () => {
    const { secret } = keys.mint();
    const login = `AUTH PLAIN ${Buffer.from(`\0apikey\0${secret}`).toString('base64')}`;
    const client = await speak();
    await client.say('EHLO x');
    assert.match(await client.say(login), /^235/);
    assert.match(await client.say('STARTTLS'), /^220/);
    client.socket.removeAllListeners('data');
    const secure = connect({ socket: client.socket, rejectUnauthorized: false });
    await once(secure, 'secureConnect');
    const say = async (line: string) => {
      secure.write(`${line}\r\n`);
      return String(((await once(secure, 'data')) as [Buffer])[0]);
    };
    await say('EHLO x');
    assert.match(await say(login), /^235/);
    const told = once(secure, 'data');
    keys.revoke(secret);
    const answer = await Promise.race([told, say('NOOP')]);
    assert.match(String(answer), /^421 4\.7\.0 the send key was revoked/);
    await client.closed;
  });

  await t.test('one that was only forgotten goes on', async () => {
    const { secret } = keys.mint();
    const client = await speak();
    await client.beginMessage(secret);
    keys.forget(secret);
    assert.match(await client.say(message), /^250/);
    keys.forget(secret);
    assert.match(await client.say('MAIL FROM:<ada@example.com>'), /^250/);
    stored.splice(0);
  });

  await t.test('a key for some domains sends for those alone', async () => {
    const { secret } = keys.mint({ domainIds: ['dom_2'] });
    const client = await speak();
    await client.beginMessage(secret);
    assert.match(await client.say(message), /^550 5\.7\.1 this send key is not for example\.com/);
    assert.deepEqual(stored, []);
  });

  await t.test('refusals of the intake become SMTP replies', async () => {
    const { Refusal } = await import('../../../../../kernel/errors.ts');
    const { DatabaseUnavailable: DatabaseAway } = await import('../../../../../kernel/db/index.ts');
    const { secret } = keys.mint();
    const cases: [Error, RegExp][] = [
      [new Refusal(429, 'quota', 'the daily quota is used up'), /^451 4\.7\.1 the daily quota is used up/],
      [new Refusal(403, 'sending_paused', 'sending is paused'), /^451 4\.7\.1 sending is paused/],
      [new Refusal(409, 'idempotency_mismatch', 'used before'), /^550 5\.7\.1 used before/],
      [new Refusal(503, 'unavailable', 'the disk is full'), /^451 4\.3\.0 the disk is full/],
      [new DatabaseAway('gone'), /^451 4\.3\.0/],
      [new Error('secret detail'), /^451 4\.3\.0 something went wrong on our side/],
    ];
    const client = await speak();
    await client.beginMessage(secret);
    for (const [error, answer] of cases) {
      hooks.before = () => Promise.reject(error);
      assert.match(await client.say(message), answer);
      await client.say('MAIL FROM:<>');
      await client.say('RCPT TO:<bob@far.example>');
      await client.say('DATA');
    }
    client.socket.destroy();
    await client.closed;
  });
});
