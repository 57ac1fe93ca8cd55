import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { type TestContext, test } from 'node:test';
import { deliverTo, mxScene } from '../../../inbound/test/receiving/mx-scene.ts';
import { email } from '../../../index.ts';
import { sendingKey } from '../../../test/sending-key.ts';
import { speakSmtp } from '../../../test/smtp-scene.ts';

interface Idle {
  socket: Socket;
  heard: string;
}

/** Opens idle connections from each of several addresses, and waits for their greetings. */
async function fill(t: TestContext, port: number, addresses: number, each: number): Promise<Idle[]> {
  const all: Idle[] = [];
  for (let n = 0; n < addresses; n++) {
    const some = Array.from({ length: each }, (): Idle => {
      const socket = connect({ port, host: '127.0.0.1', localAddress: `127.0.${1 + Math.floor(n / 200)}.${2 + (n % 200)}` });
      t.after(() => socket.destroy());
      const idle = { socket, heard: '' };
      socket
        .on('error', () => {})
        .on('data', (piece) => {
          idle.heard += piece.toString();
        });
      return idle;
    });
    await Promise.all(some.map(({ socket }) => once(socket, 'data')));
    all.push(...some);
  }
  return all;
}

test('idle connections of many addresses block neither the submission port nor the MX port', async (t) => {
  const { qd, port, endpoint } = await mxScene(t);

  await t.test('25 addresses with 20 connections each at the MX port: the oldest is closed, and mail is accepted', async (t) => {
    const idle = await fill(t, port, 25, 20);
    assert.ok(idle.every(({ heard }) => heard.startsWith('220 ')));
    assert.match(await deliverTo(t, port), /^250 /);
    await endpoint.heard(1);
    await eventuallyClosed(idle[0]!);
    assert.match(idle[0]!.heard, /^421 4\.7\.0 the server is busy/m);
    assert.equal(idle.filter(({ heard }) => /^421 /m.test(heard)).length, 1);
    for (const { socket } of idle) socket.destroy();
  });

  await t.test('10 addresses with 100 connections each at the submission port: logged-in clients stay', async (t) => {
    const key = await sendingKey(qd);
    const submission = qd.own(email).smtp.ports[0]!;
    const early = await speakSmtp(t, submission);
    await early.beginMessage(key.secret);
    const idle = await fill(t, submission, 10, 100);
    const late = await speakSmtp(t, submission);
    await late.beginMessage(key.secret);
    for (const { say } of [early, late])
      assert.match(await say('From: ada@example.com\r\nTo: bob@far.example\r\n\r\nHello.\r\n.'), /^250 /);
    await eventuallyClosed(idle[0]!);
    assert.match(idle[0]!.heard, /^421 4\.7\.0/m);
  });
});

const eventuallyClosed = async ({ socket }: Idle) => socket.closed || once(socket, 'close');
