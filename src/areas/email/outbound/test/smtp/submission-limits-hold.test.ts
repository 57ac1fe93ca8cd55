import assert from 'node:assert/strict';
import { test } from 'node:test';
import nodemailer from 'nodemailer';
import type { Session } from '../../../../../kernel/smtp/index.ts';
import { smtpDoor } from '../../../test/smtp-scene.ts';
import { makeLogins } from '../../planes/smtp/logins.ts';

const plain = (secret: string) => `AUTH PLAIN ${Buffer.from(`\0apikey\0${secret}`).toString('base64')}`;
const header = 'From: ada@example.com\r\n\r\n';

test('submission limits hold', async (t) => {
  const { server, keys, stored, speak, port } = await smtpDoor(t);
  const { secret } = keys.mint();

  await t.test('twenty connections for a key, and one more once one has gone', async () => {
    const { secret: own } = keys.mint();
    const clients = [];
    for (let i = 0; i < 20; i++) {
      const client = await speak();
      await client.say('EHLO x');
      assert.match(await client.say(plain(own)), /^235/);
      clients.push(client);
    }
    const late = await speak();
    await late.say('EHLO x');
    assert.match(await late.say(plain(own)), /^421 4\.7\.0 this send key has 20 connections/);
    await late.closed;
    await clients[0]!.say('QUIT');
    await clients[0]!.closed;
    const again = await speak();
    await again.say('EHLO x');
    assert.match(await again.say(plain(own)), /^235/);
    for (const { socket } of [...clients, again]) socket.destroy();
  });

  await t.test('a quarter of all connections for an organization, whatever keys and addresses it has', async () => {
    const logins = makeLogins(server.app, keys.principals);
    const comeIn = (password: string, i = 0) => {
      const socket = { remoteAddress: `127.0.1.${i % 200}` };
      return logins.logIn({ socket, send: () => {} } as unknown as Session, { username: 'apikey', password });
    };
    const owned = Array.from({ length: 13 }, () => keys.mint().secret);
    const visits = await Promise.all(Array.from({ length: 250 }, (_, i) => comeIn(owned[i % 13]!, i)));
    await assert.rejects(comeIn(owned[12]!), /4\.7\.0 your organization has 250 connections/);
    (await comeIn(keys.mint({ org: 'org_b' }).secret)).logOut();
    visits.pop()!.logOut();
    (await comeIn(owned[12]!)).logOut();
    for (const visit of visits) visit.logOut();
  });

  await t.test('a hundred connections from an address', async () => {
    const clients = [];
    let refused = '';
    for (let i = 0; i < 110 && !refused; i++) {
      const client = await speak().catch(() => undefined);
      if (!client) break;
      const heard = await client.say('NOOP');
      if (/^250/.test(heard)) clients.push(client);
      else refused = heard;
    }
    assert.ok(clients.length <= 100 && clients.length > 70, `${clients.length}`);
    for (const { socket } of clients) socket.destroy();
    await Promise.all(clients.map(({ closed }) => closed));
    const client = await speak();
    assert.match(await client.say('NOOP'), /^250/);
  });

  await t.test('those that said STARTTLS and went are not counted any more', async () => {
    for (let i = 0; i < 105; i++) {
      const made = nodemailer.createTransport({ host: '127.0.0.1', port, requireTLS: true, tls: { rejectUnauthorized: false } });
      await assert.rejects(made.sendMail({ from: 'ada@example.com', to: 'bob@far.example' }), /530 5\.7\.0/);
      made.close();
    }
  });

  await t.test('fifty recipients, each once, and none that cannot be sent to', async () => {
    const client = await speak();
    await client.say('EHLO x');
    await client.say(plain(secret));
    await client.say('MAIL FROM:<>');
    assert.match(await client.say('RCPT TO:<b\xc3\xb6b@far.example>'), /^553 5\.1\.3 .*only ASCII before the @/);
    assert.match(await client.say('RCPT TO:<bob@[192.0.2.1]>'), /^553 5\.1\.3/);
    assert.match(await client.say('RCPT TO:<postmaster>'), /^553 5\.1\.3/);
    assert.match(await client.say('RCPT TO:<bob@m\xc3\xbcnchen.example>'), /^250/);
    assert.match(await client.say('RCPT TO:<BOB@xn--mnchen-3ya.example>'), /^250/);
    for (let i = 0; i < 49; i++) assert.match(await client.say(`RCPT TO:<bob${i}@far.example>`), /^250/);
    assert.match(await client.say('RCPT TO:<onemore@far.example>'), /^452 4\.5\.3/);
    await client.say('DATA');
    assert.match(await client.say(`${header}hi\r\n.`), /^250/);
    const [taken] = stored.splice(0);
    assert.equal(taken!.envelope.length, 50);
    assert.equal(taken!.envelope.filter((each) => /münchen|xn--/.test(each)).length, 1);
    assert.match(taken!.envelope[0]!, /@xn--mnchen-3ya\.example$/);
  });

  await t.test('SIZE is believed where it says too much, and not where it says too little', async () => {
    const client = await speak();
    await client.say('EHLO x');
    await client.say(plain(secret));
    assert.match(await client.say('MAIL FROM:<a@example.com> SIZE=30000000'), /^552 5\.3\.4/);
    assert.match(await client.say('MAIL FROM:<a@example.com> SIZE=10'), /^250/);
    await client.say('RCPT TO:<bob@far.example>');
    await client.say('DATA');
    client.socket.write(header);
    const line = `${'x'.repeat(998)}\r\n`.repeat(1_000);
    for (let i = 0; i < 27; i++) if (!client.socket.write(line)) await new Promise((resolve) => client.socket.once('drain', resolve));
    assert.match(await client.say('.'), /^552 5\.3\.4/);
    assert.deepEqual(stored, []);
    assert.match(await client.say('NOOP'), /^250/);
  });

  await t.test('SMTPUTF8 is not taken, nor a MAIL FROM that is no address', async () => {
    const client = await speak();
    await client.say('EHLO x');
    await client.say(plain(secret));
    assert.match(await client.say('MAIL FROM:<ada@example.com> SMTPUTF8'), /^550 5\.6\.7/);
    assert.match(await client.say('MAIL FROM:<nonsense'), /^501/);
    assert.match(await client.say('MAIL FROM:<any.body@else.example>'), /^250/);
  });

  await t.test('a client that sends nonsense is disconnected', async () => {
    const client = await speak();
    client.socket.write('nonsense\r\n'.repeat(500));
    let last = '';
    for (let i = 0; i < 12 && !last.startsWith('421'); i++) last = await client.hear();
    assert.match(last, /^421/);
    await client.closed;
    const web = await speak();
    assert.match(await web.say('POST / HTTP/1.1'), /^421/);
  });

  await t.test('a client that leaves in the middle of its message leaves nothing', async () => {
    const client = await speak();
    await client.beginMessage(secret);
    client.socket.write(`${header}${`${'x'.repeat(998)}\r\n`.repeat(600)}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
    client.socket.destroy();
    const next = await speak();
    await next.beginMessage(secret);
    assert.match(await next.say(`${header}hi\r\n.`), /^250/);
    assert.equal(stored.splice(0).length, 1);
  });
});
