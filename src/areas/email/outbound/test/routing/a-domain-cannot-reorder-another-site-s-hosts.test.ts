import assert from 'node:assert/strict';
import { test } from 'node:test';
import { smtpSink } from '../../../../../../test/fakes/smtp-sink.ts';
import { letter, mailScene, untilState } from '../../../test/mail-scene.ts';
import { mailWorld, mx, outgoing, stoppedClock } from '../sending/mail-world.ts';

test('a hostile domain that lists the same hosts in another order does not change another domain’s route', async (t) => {
  const { qd, key, dns, sink: first } = await mailScene(t);
  const second = await smtpSink(t, { host: '127.0.0.2', port: first.port });
  const hosts = (one: number, two: number) => ({
    MX: [
      { preference: one, exchange: 'mx1.far.example' },
      { preference: two, exchange: 'mx2.far.example' },
    ],
  });
  Object.assign(dns.zone, {
    'evil.example': hosts(20, 10),
    'far.example': hosts(10, 20),
    'mx1.far.example': { A: ['127.0.0.1'] },
    'mx2.far.example': { A: ['127.0.0.2'] },
  });
  const send = async (to: string) => {
    const { id } = (await key.post('/email/send', letter({ to: [to] }))).body as { id: string };
    await untilState(qd, id, 'delivered');
  };
  await send('eve@evil.example');
  await send('bob@far.example');
  const took = ({ messages }: { messages: { to: string[] }[] }) => messages.flatMap(({ to }) => to);
  assert.deepEqual([took(first), took(second)], [['bob@far.example'], ['eve@evil.example']]);
});

test('a changed preference takes effect when the cached answer expires', async (t) => {
  const first = await smtpSink(t);
  const second = await smtpSink(t, { host: '127.0.0.2', port: first.port });
  const clock = stoppedClock();
  const zone = { 'far.example': { MX: mx([10, 'mx1.far.example'], [20, 'mx2.far.example']), ttl: 300 } };
  const addresses = { 'mx1.far.example': ['127.0.0.1'], 'mx2.far.example': ['127.0.0.2'] };
  const { sender } = mailWorld(t, first.port, zone, { clock, addresses });
  const counts = async () => {
    assert.equal((await sender.send(outgoing('bob@far.example'))).kind, 'delivered');
    return [first.messages.length, second.messages.length];
  };
  assert.deepEqual(await counts(), [1, 0]);
  zone['far.example'].MX = mx([30, 'mx1.far.example'], [20, 'mx2.far.example']);
  assert.deepEqual(await counts(), [2, 0], 'the answer is believed for its time');
  clock.advance(301_000);
  assert.deepEqual(await counts(), [2, 1]);
});
