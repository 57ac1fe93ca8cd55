import assert from 'node:assert/strict';
import test from 'node:test';
import { smtpSink } from '../../../../../../test/fakes/smtp-sink.ts';
import { eventually } from '../../../../../../test/harness/process.ts';
import { mailWorld, mx, outgoing, stoppedClock } from './mail-world.ts';

test('a message without a connection goes back to its row after ten minutes, with the reason', async (t) => {
  const clock = stoppedClock();
  const sink = await smtpSink(t, { at: (stage) => (stage === 'dot' ? 'stall' : undefined) });
  const { sender } = mailWorld(t, sink.port, { 'example.org': { MX: mx('mx.example.org') } }, { clock, limits: { connections: 1 } });
  void sender.send(outgoing('first@example.org', { org: 'a' }));
  await eventually(async () => sink.sessions === 1);
  const late = sender.send(outgoing('second@example.org', { org: 'a' }));
  let isSettled = false;
  void late.then(() => {
    isSettled = true;
  });
  await new Promise((next) => setTimeout(next, 100)); // it stands in the line
  clock.advance(590_000);
  await new Promise((next) => setImmediate(next));
  assert.equal(isSettled, false, 'not yet');
  clock.advance(310_000);
  const outcome = await late;
  assert.equal(outcome.kind, 'waits');
  assert.match(
    outcome.serverReply.response,
    /^its turn did not come within 10 minutes; 1 wait for these mail servers, which take 1 at once/,
  );
});
