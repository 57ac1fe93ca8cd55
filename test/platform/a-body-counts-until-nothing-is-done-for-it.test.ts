import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { test } from 'node:test';
import { sendingKey } from '../../src/areas/email/test/sending-key.ts';
import { quarterdeck } from '../harness/index.ts';
import { eventually } from '../harness/process.ts';

const many = 3;
const bytes = 1_000_000;

for (const path of ['/api/v1/email/send', '/resend/emails'])
  test(`a client that leaves while its body is queued frees no memory for another one (${path})`, async (t) => {
    const qd = await quarterdeck(t);
    const { heavy, bodies } = qd.app;
    const { secret } = await sendingKey(qd);
    const { open } = bodies;
    let left = 0;
    bodies.open = (holders) => {
      const held = open(holders);
      const end = () => {
        left++;
        held.release();
      };
      return { ...held, release: end };
    };
    const waiting = () => heavy.figures().find(({ org }) => org === qd.owner.orgId)?.waiting ?? 0;

    const body = JSON.stringify({ from: 'ada@example.com', to: ['bob@far.example'], subject: 'Hello', text: 'x'.repeat(bytes) });
    const head = `POST ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${secret}\r\nContent-Type: application/json\r\n`;
    await heavy.acquire(qd.owner.orgId); // another large one of theirs is read at the moment
    for (let sent = 1; sent <= many; sent++) {
      const socket = connect(Number(new URL(qd.url).port), '127.0.0.1').on('error', () => {});
      socket.write(`${head}Content-Length: ${body.length}\r\n\r\n${body}`);
      await eventually(async () => waiting() === sent);
      socket.destroy();
    }
    await eventually(async () => left === many);
    const { total } = bodies.figures();
    assert.ok(total >= many * bytes, `${total} bytes are counted while ${waiting()} bodies wait`);
    heavy.release(qd.owner.orgId);
    await eventually(async () => bodies.figures().total === 0);
  });
