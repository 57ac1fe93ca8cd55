import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Misbehaviour, type SinkStage, smtpSink } from '../../../../../test/fakes/smtp-sink.ts';
import { mailWorld, mx, outgoing } from '../../outbound/test/sending/mail-world.ts';
import { letter, mailScene, untilState } from '../mail-scene.ts';

const stages: SinkStage[] = ['greeting', 'ehlo', 'mail', 'rcpt', 'data', 'dot'];
const manners: Record<string, Misbehaviour> = {
  resets: 'reset',
  closes: 'close',
  greylists: '451 4.7.1 greylisted, come again in 5 minutes',
  babbles: { raw: 'I am not a mail server at all\r\n' },
  floods: 'endless lines',
};

test('remotes that reset, close, greylist or talk nonsense at any stage defer their own mail, with a reason', {
  timeout: 120_000,
}, async (t) => {
  const { qd, dns, sink, key } = await mailScene(t);
  // Each at an address of its own, and so a site of its own.
  const cases = stages.flatMap((stage) => Object.entries(manners).map(([manner, instead]) => ({ stage, manner, instead })));
  for (const [n, { stage, manner, instead }] of cases.entries()) {
    const host = `127.0.1.${n + 1}`;
    const at = (reached: SinkStage) => (reached === stage ? instead : undefined);
    await smtpSink(t, { host, port: sink.port, at });
    dns.zone[`${manner}-${stage}.example`] = { MX: [{ preference: 10, exchange: `mx.${manner}-${stage}.example` }] };
    dns.zone[`mx.${manner}-${stage}.example`] = { A: [host] };
  }
  const stalled = await smtpSink(t, { host: '127.0.2.1', port: sink.port, at: (stage) => (stage === 'dot' ? 'stall' : undefined) });
  dns.zone['stalled.example'] = { MX: [{ preference: 10, exchange: 'mx.stalled.example' }] };
  dns.zone['mx.stalled.example'] = { A: ['127.0.2.1'] };

  const to = cases.map(({ manner, stage }) => `bob@${manner}-${stage}.example`);
  const { body: sent } = await key.post('/email/send/batch', {
    messages: ['bob@stalled.example', ...to, 'bob@far.example'].map((who) => letter({ to: [who] })),
  });
  const ids: string[] = sent.messages.map(({ id }: { id: string }) => id);
  await untilState(qd, ids.at(-1)!, 'delivered'); // beside all of them
  for (const [n, { manner, stage }] of cases.entries()) {
    const { message, events } = await untilState(qd, ids[n + 1]!, 'deferred', 'bounced', 'failed');
    const story = `${manner} at ${stage}: ${JSON.stringify({ message, events })}`;
    assert.equal(message.state, 'deferred', story);
    assert.match(message.lastError ?? '', new RegExp(`mx\\.${manner}-${stage}\\.example.{5,}`), story);
    assert.deepEqual(
      events.filter(({ kind, detail }) => kind !== 'sent' && !(kind === 'deferred' && detail?.['response'])),
      [],
      story,
    );
  }
  assert.equal((await qd.owner.get(`/email/messages/${ids[0]}`)).body.message.state, 'sending', 'it waits for the stalled server');
  assert.deepEqual((await qd.owner.get('/email/suppressions')).body.suppressions, []);
  stalled.close(); // else the server, when it stops, waits for the answer
});

test('a server that stalls at any stage is given up with a reason', async (t) => {
  const isLeft = async (stage: SinkStage) => {
    const sink = await smtpSink(t, { at: (reached) => (reached === stage ? 'stall' : undefined) });
    const timeouts = { connect: 200, greeting: 200, command: 200, data: 200, block: 200, dot: 200 };
    const { sender } = mailWorld(t, sink.port, { 'example.org': { MX: mx('mx.example.org') } }, { timeouts });
    const { kind, serverReply } = await sender.send(outgoing('bob@example.org'));
    assert.ok(kind === 'deferred' || kind === 'waits', `${stage}: ${kind}`);
    assert.match(serverReply.response, /did not answer|silent|in time|within/, `${stage}: ${serverReply.response}`);
  };
  await Promise.all(stages.map(isLeft));
});
