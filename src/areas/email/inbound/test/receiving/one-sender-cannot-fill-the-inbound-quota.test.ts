import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { type TestContext, test } from 'node:test';
import { urlOf } from '../../../../../../test/harness/postgres.ts';
import { adminHere } from '../../../../../admin/test/support.ts';
import { sql } from '../../../../../kernel/sql.ts';
import { untilState } from '../../../test/mail-scene.ts';
import { idIn, letterIn, type MxScene, mxScene } from './mx-scene.ts';

const mebibyte = 2 ** 20;
const quota = 400 * mebibyte;
const large = `${letterIn()}${'x'.repeat(998).concat('\r\n').repeat(100)}`;

/** One message from this address, all of it said at once where it is answered step by step. */
async function deliverFrom(
  t: TestContext,
  port: number,
  localAddress: string,
  message = letterIn(),
  size = message.length,
): Promise<string> {
  const socket = connect({ port, host: '127.0.0.1', localAddress });
  t.after(() => socket.destroy());
  let answer = '';
  const lines = ['EHLO far.example', `MAIL FROM:<bob@far.example> SIZE=${size}`, 'RCPT TO:<support@in.example.com>', 'DATA', `${message}.`];
  for (const line of ['', ...lines]) {
    if (line) socket.write(`${line}\r\n`);
    answer = '';
    while (!/^\d{3} .*\r\n$/m.test(answer)) answer += String((await once(socket, 'data'))[0]);
    if (!/^[23]/.test(answer)) break;
  }
  socket.destroy();
  return answer;
}

/** As if so much had come from an address before. */
const pretend = ({ qd }: MxScene, sender: string, bytes: number) =>
  qd.app.db.write(async (tx) => {
    const day = sql`(kernel.now() at time zone 'UTC')::date - 1`;
    await tx.query(
      sql`insert into email.received_sender (org_id, sender, day, bytes) values (${qd.owner.orgId}, ${sender}, ${day}, ${bytes})`,
    );
    await tx.query(sql`
      insert into email.received_usage as u (org_id, day, messages, bytes) values (${qd.owner.orgId}, ${day}, 1, ${bytes})
          on conflict (org_id, day) do update set bytes = u.bytes + excluded.bytes`);
  });

test('a sender has a share of the inbound quota, the last part is for small mail, and it can be freed', async (t) => {
  const scene = await mxScene(t, { env: { QUARTERDECK_EMAIL_INBOUND_QUOTA_BYTES: String(quota) } });
  const { qd, port, endpoint } = scene;
  const send = (from: string, message?: string) => deliverFrom(t, port, from, message);
  const first = await send('127.0.0.9', large);
  assert.match(first, /^250 /);

  // A quarter of it: the next message from that address is refused, and no other sender's is.
  await pretend(scene, '127.0.0.9', quota / 4 - 50_000);
  assert.match(await send('127.0.0.9'), /^452 4\.2\.2 you have used your share of the room for mail to this recipient/);
  assert.match(await send('127.0.0.9'), /^452 4\.2\.2 there is no room left/, 'it is told so before it sends the next one');
  assert.match(await send('127.0.0.8'), /^250 /);

  // Four fifths: large messages are kept out, small ones are not.
  for (const other of ['127.0.0.5', '127.0.0.6', '127.0.0.7']) await pretend(scene, other, 0.19 * quota);
  assert.match(await send('127.0.0.8', large), /^452 4\.2\.2 there is no room left/);
  assert.match(await send('127.0.0.8', large), /^452 4\.2\.2/);
  assert.match(await send('127.0.0.8'), /^250 /);

  // Small mail from a few addresses does not fill the rest either: a sender with much gets no part of it.
  assert.match(await send('127.0.0.5'), /^452 4\.2\.2 you have used your share of the room for mail to this recipient/);
  assert.match(await send('127.0.0.4'), /^250 /);

  // The operator sees the sender, and frees its content.
  await untilState(qd, idIn(first), 'delivered');
  const env = {
    QUARTERDECK_DATABASE_URL: urlOf(qd.connection),
    QUARTERDECK_DATA: qd.dataDir,
    QUARTERDECK_EMAIL_INBOUND_QUOTA_BYTES: String(quota),
  };
  const listed = await adminHere(['email', 'inbound', '--json'], env);
  const [most] = JSON.parse(listed.out) as { sender: string; bytes: number; 'of quota': string }[];
  assert.equal(most!.sender, '127.0.0.9', listed.err);
  assert.equal(most!['of quota'], '25 %');
  const content = `/email/messages/${idIn(first)}/content`;
  assert.equal((await qd.owner.get(content)).status, 200);
  const freed = await adminHere(['email', 'free-inbound', '--from', '127.0.0.9'], env);
  assert.match(freed.out, /has \d{6} bytes more for mail: the content of 1 messages from 127\.0\.0\.9 is gone/, freed.err);
  assert.equal((await qd.owner.get(content)).status, 404);
  const { rows } = await qd.app.db.read((tx) =>
    tx.query(sql`select sum(bytes)::int as bytes from email.received_sender where sender = '127.0.0.9'`),
  );
  assert.deepEqual(rows, [{ bytes: quota / 4 - 50_000 }]);
  assert.equal((await endpoint.heard(4)).length, 4);
});
