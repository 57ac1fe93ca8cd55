import assert from 'node:assert/strict';
import { Readable } from 'node:stream';
import { type TestContext, test } from 'node:test';
import { eventually } from '../../../../../../test/harness/process.ts';
import { email } from '../../../index.ts';
import { noArrivalReader, startArrivalReader } from '../../engine/index.ts';
import { openInboundIntake } from '../../engine/intake.ts';
import { letterIn, type MxScene, mxScene } from './mx-scene.ts';

/** A server that reads, from when its disk gives it the bytes; and what it counted. */
function readingServer(t: TestContext, { qd }: MxScene, disk: Promise<void>) {
  const counted: string[] = [];
  let asked = 0;
  const read = async () => {
    asked++;
    await disk;
    return Readable.from([Buffer.from(letterIn())]);
  };
  const readings = startArrivalReader({
    app: qd.app,
    spool: { read } as never,
    node: 'here',
    mailHost: 'mx.host.example',
    onOutcome: (outcome) => counted.push(outcome),
  });
  t.after(() => readings.stop());
  return { counted, asked: () => asked };
}

test('mail whose lease lapses while it is read is recorded once, by the new lease holder', async (t) => {
  const scene = await mxScene(t, { env: { QUARTERDECK_ROLES: 'api' } });
  const { qd, domainId, routeId, endpointId } = scene;
  const reception = openInboundIntake({
    app: qd.app,
    spool: qd.own(email).receiving.spool,
    node: 'here',
    arrivalWorker: () => noArrivalReader,
  });
  const id = await reception.take({
    envelope: { mailFrom: 'bob@far.example', remoteIp: '192.0.2.1', tls: null, helo: 'far.example' },
    sender: '192.0.2.1',
    destinations: [
      { destination: { kind: 'route', org: qd.owner.orgId, domainId, routeId, endpointId }, addresses: ['support@in.example.com'] },
    ],
    content: Buffer.from(letterIn()),
  });

  const slowDisk = Promise.withResolvers<void>();
  const slow = readingServer(t, scene, slowDisk.promise);
  await eventually(async () => slow.asked() === 1);
  await qd.clock.advance('61s');
  const quick = readingServer(t, scene, Promise.resolve());
  await eventually(async () => quick.counted.length > 0);
  slowDisk.resolve();
  await eventually(async () => slow.counted.length > 0);

  assert.deepEqual([quick.counted, slow.counted], [['told'], ['lost']]);
  const { deliveries } = (await qd.owner.get('/email/webhook-deliveries')).body;
  assert.equal(deliveries.length, 1);
  const { messages } = (await qd.owner.get('/email/messages?direction=receive')).body;
  assert.deepEqual(
    messages.map((message: { id: string; subject: string }) => [message.id, message.subject]),
    [[id, 'Help']],
  );
});
