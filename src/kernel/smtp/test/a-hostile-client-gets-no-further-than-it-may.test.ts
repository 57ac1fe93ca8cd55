import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Message } from '../message.ts';
import { Reply } from '../reply.ts';
import { makeUpDoor, settle } from './made-up-door.ts';

const hello = 'EHLO far.example\r\n';
const envelope = 'MAIL FROM:<a@b.example>\r\nRCPT TO:<c@d.example>\r\n';
const last = (heard: string) => heard.trimEnd().split('\r\n').at(-1)!;

test('a line that does not end, or ends too late, ends the session', async () => {
  for (const said of ['x'.repeat(2_049), `NOOP ${'x'.repeat(2_100)}\r\n`]) {
    const door = makeUpDoor();
    assert.match(last(await door.say(hello, said)), /^421 4\.7\.0 the line is too long/);
    assert.equal(door.session.isEnding, true);
  }
  const dripping = makeUpDoor();
  await dripping.say(...Array.from({ length: 300 }, () => 'x'.repeat(8)));
  assert.equal(dripping.session.isEnding, true);
});

test('what comes behind QUIT, or behind the refusal that ended it, is not heard', async () => {
  const door = makeUpDoor();
  assert.match(last(await door.say(`${hello}QUIT\r\n${envelope}DATA\r\nhi\r\n.\r\n`)), /^221/);
  assert.deepEqual(door.taken, []);
  const web = makeUpDoor();
  assert.match(last(await web.say(`POST / HTTP/1.1\r\n${hello}${envelope}DATA\r\nhi\r\n.\r\n`)), /^421/);
  assert.deepEqual(web.taken, []);
});

test('no command is heard before the one before it was answered', async () => {
  const asked = Promise.withResolvers<void>();
  const door = makeUpDoor({ visit: { beginMessage: () => asked.promise } });
  assert.match(last(await door.say(`${hello}${envelope}DATA\r\n`)), /^250 SIZE/);
  asked.reject(new Reply(451, '4.7.1', 'later'));
  await settle();
  assert.match(door.wire.heard, /451 4\.7\.1 later\r\n503 5\.5\.1 say MAIL first\r\n503 5\.5\.1 say RCPT first\r\n$/);
});

test('while it is thought about, what comes is left where it is', async () => {
  const asked = Promise.withResolvers<void>();
  const door = makeUpDoor({ visit: { beginMessage: () => asked.promise } });
  await door.say(hello, 'MAIL FROM:<a@b.example>\r\n', 'NOOP\r\n');
  assert.equal(door.wire.isPaused(), true);
  asked.resolve();
  await settle();
  assert.equal(door.wire.isPaused(), false);
  assert.match(door.wire.heard, /250 2\.1\.0 Accepted\r\n250 2\.0\.0 OK\r\n$/);
});

test('who does not read what it is told is not heard any more', async () => {
  const door = makeUpDoor({ mostCommands: Number.POSITIVE_INFINITY });
  door.wire.isDeaf = true;
  for (let n = 0; n < 100; n++) await door.say('NOOP\r\n'.repeat(1_000));
  assert.equal(door.wire.isPaused(), true);
  assert.ok(door.wire.writableLength < 200_000, `${door.wire.writableLength} bytes wait for it`);
});

test('nor is it kept for longer than one that says nothing', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const door = makeUpDoor({ mostCommands: Number.POSITIVE_INFINITY });
  door.wire.isDeaf = true;
  for (let n = 0; n < 100; n++) await door.say('NOOP\r\n'.repeat(1_000));
  t.mock.timers.tick(59_000);
  door.wire.emit('timeout'); // it still sends: only what it reads counts
  t.mock.timers.tick(1_000);
  assert.equal(door.session.isEnding, true);
  t.mock.timers.tick(5_000);
  await settle();
  assert.equal(door.counts.left, 1);
});

test('who reads again is heard again, and nothing is left of its having been deaf', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const door = makeUpDoor({ mostCommands: Number.POSITIVE_INFINITY });
  const listeners = () => door.wire.eventNames().reduce((sum, name) => sum + door.wire.listenerCount(name), 0);
  await settle();
  const before = listeners();
  for (let n = 0; n < 20; n++) {
    door.wire.isDeaf = true;
    for (let m = 0; m < 6; m++) await door.say('NOOP\r\n'.repeat(1_000));
    assert.equal(door.wire.isPaused(), true);
    door.wire.listenAgain();
    for (let turn = 0; turn < 100; turn++) await new Promise(setImmediate);
    assert.equal(door.wire.isPaused(), false);
  }
  assert.equal(door.wire.heard.split('250 2.0.0 OK').length - 1, 120_000);
  assert.equal(listeners(), before);
  t.mock.timers.tick(60_000);
  assert.equal(door.session.isEnding, false);
});

test('a reply that took time counts as unread too', async () => {
  const door = makeUpDoor({ visit: { addRecipient: () => Promise.reject(new Reply(450, '4.7.1', 'x'.repeat(900))) } });
  await door.say(`${hello}MAIL FROM:<a@b.example>\r\n`);
  door.wire.isDeaf = true;
  for (let n = 0; n < 200; n++) await door.say('RCPT TO:<c@d.example>\r\n');
  assert.ok(door.wire.writableLength < 100_000, `${door.wire.writableLength} bytes wait for it`);
});

test('before a login every line counts, those of AUTH too', async () => {
  const ways = ['AUTH X\r\n', 'AUTH PLAIN !\r\n', 'AUTH PLAIN\r\n*\r\n', 'AUTH LOGIN\r\n*\r\n', 'NOOP\r\n'];
  for (const way of ways) {
    const door = makeUpDoor({ visit: { logIn: async () => {} } });
    const heard = await door.say(hello, ...Array.from({ length: 30 }, () => way));
    assert.match(last(heard), /^421 4\.7\.0 too many commands before a login/, way);
    assert.ok(heard.split(/^\d{3} /m).length - 1 <= 1 + 20 + 1, 'the greeting, twenty answers, and the last one');
  }
  const known = makeUpDoor({ visit: { logIn: async () => {} } });
  assert.match(await known.say(hello, 'AUTH PLAIN AGEAYg==\r\n'), /235 2\.7\.0/);
  assert.match(last(await known.say('NOOP\r\n'.repeat(50))), /^250/);
});

test('a smuggled end is no end', async () => {
  const tricks = ['\n.\n', '\n.\r\n', '\r\n.\n', '\r.\r', '\r\n.\r', '\r\n\0.\r\n'];
  for (const trick of tricks) {
    const door = makeUpDoor();
    const heard = await door.say(
      `${hello}${envelope}DATA\r\nfirst${trick}MAIL FROM:<evil@b.example>\r\nRCPT TO:<x@d.example>\r\nDATA\r\nsecond\r\n.\r\n`,
    );
    assert.match(last(heard), /^554 5\.6\.0/, JSON.stringify(trick));
    assert.deepEqual(door.taken, []);
    assert.match(last(await door.say('NOOP\r\n')), /^250/);
  }
});

test('a refused message is read to its end, and one that has none is cut off', async () => {
  const door = makeUpDoor();
  await door.say(`${hello}${envelope}DATA\r\nlone\nfeed\r\n`);
  assert.match(last(await door.say(`${'x'.repeat(70)}\r\n`.repeat(100))), /^354/);
  assert.match(last(await door.say('.\r\n')), /^554 5\.6\.0/);
  await door.say(`${envelope}DATA\r\n`);
  for (let n = 0; n < 4; n++) await door.say(`${'x'.repeat(998)}\r\n`.repeat(60));
  assert.match(last(door.wire.heard), /^421 4\.3\.4 the message does not end/);
  assert.deepEqual(door.counts, { expected: 2, ended: 2, left: 0 });
});

test('a large refused message is not kept, and its client gets the reason', async () => {
  const door = makeUpDoor({ visit: { takeMessage: () => Promise.reject(new Reply(550, '5.7.1', 'not you')) } });
  await door.say(`${hello}${envelope}DATA\r\n`, `${'x'.repeat(998)}\r\n`.repeat(5), `${'x'.repeat(998)}\r\n`.repeat(50));
  assert.match(last(door.wire.heard), /^354/);
  assert.match(last(await door.say('.\r\n')), /^550 5\.7\.1 not you/);
  assert.deepEqual(door.counts, { expected: 1, ended: 1, left: 0 });
});

test('one that was refused while it came in has no more time than any other', async () => {
  const door = makeUpDoor({ visit: { takeMessage: () => Promise.reject(new Reply(550, '5.7.1', 'not you')) } });
  await door.say(`${hello}${envelope}DATA\r\n`, 'x'.repeat(5_000), 'x');
  assert.deepEqual(door.counts, { expected: 1, ended: 0, left: 0 }, 'what bounds it holds while it comes in');
  door.session.send(421, '4.4.2 the message did not arrive in time');
  await settle();
  assert.equal(door.counts.ended, 1);
});

test('a pause of the server does not count as silence of the client', async () => {
  const read = Promise.withResolvers<void>();
  const takeMessage = async ({ rest }: Message) => {
    await read.promise;
    rest!.resume();
    return '2.0.0 Ok';
  };
  const door = makeUpDoor({ visit: { takeMessage } });
  await door.say(`${hello}${envelope}DATA\r\n`, 'x'.repeat(5_000), 'x'.repeat(70_000));
  assert.equal(door.wire.isPaused(), true);
  door.wire.emit('timeout');
  assert.equal(door.session.isEnding, false);
  const { timesSet } = door.wire;
  read.resolve();
  await settle();
  assert.equal(door.wire.isPaused(), false);
  assert.equal(door.wire.timesSet, timesSet + 1, 'their time begins anew');
  door.wire.emit('timeout');
  assert.match(last(door.wire.heard), /^421 4\.4\.2 nothing came for too long/);
});

test('who leaves in the middle of a message leaves nothing behind', async () => {
  for (const bytes of [10, 5_000]) {
    const door = makeUpDoor();
    await door.say(`${hello}${envelope}DATA\r\n`, 'x'.repeat(bytes));
    door.wire.destroy();
    await settle();
    assert.deepEqual(door.taken, []);
    assert.deepEqual(door.counts, { expected: 1, ended: 1, left: 1 });
  }
});

test('who says that it is done hears its answers, and is let go', async () => {
  const door = makeUpDoor();
  await door.say(`${hello}${envelope}DATA\r\nhi\r\n.\r\n`);
  door.wire.push(null);
  await settle();
  assert.match(door.wire.heard, /250 2\.0\.0 Ok: 1\r\n$/);
  assert.equal(door.session.isEnding, true);
});

test('no sentence splits a reply, and no address a command', async () => {
  const door = makeUpDoor({
    visit: {
      addRecipient: () => {
        throw new Reply(550, '5.1.1', 'no\r\n250 2.1.5 Accepted');
      },
    },
  });
  assert.match(last(await door.say(`${hello}${envelope}`)), /^550 5\.1\.1 no {2}250 2\.1\.5 Accepted$/);
  assert.match(last(await door.say('RSET\r\nMAIL FROM:<a\r@b.example>\r\n')), /^501/);
  assert.match(last(await door.say('MAIL FROM:<a@b.example> SIZE=1 SIZE=2\r\n')), /^501 5\.5\.4 the parameter SIZE stands there twice/);
  assert.match(last(await door.say('MAIL FROM:<a@b.example> REQUIRETLS\r\n')), /^555/);
  assert.match(last(await door.say('MAIL FROM:<a@b.example> BODY=BINARYMIME\r\n')), /^501/);
});

test('a client that sends before the greeting is disconnected', async () => {
  const door = makeUpDoor({ greetAfterMs: 50 });
  assert.match(await door.say(hello), /^421 .*You talk too soon\r\n$/);
});

test('a client that waits for its turn is read after it, and waits once for commands that came together', async () => {
  const turns: (() => void)[] = [];
  const takeTurn = () => new Promise<void>((resolve) => turns.push(resolve));
  const door = makeUpDoor({ visit: { takeTurn } });
  const before = await door.say(`${hello}${envelope}DATA\r\nhi\r\n.\r\n`);
  assert.equal(before.trimEnd().split('\r\n').length, 1, 'the greeting alone');
  assert.equal(door.wire.isPaused(), true, 'nothing more is read meanwhile');
  turns[0]!();
  await settle();
  assert.equal(turns.length, 1);
  assert.deepEqual(
    door.taken.map(({ text }) => text),
    ['hi\r\n'],
  );
});
