import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { speakSmtp } from '../../../test/smtp-scene.ts';
import { endpointAt, listening } from '../../../webhooks/test/listening.ts';
import { armedDomain, deliverTo, letterIn, mxScene, route } from './mx-scene.ts';

const mine = 'support@in.example.com';
const theirs = 'support@theirs.example.com';

/** Says one message for all of them, as servers do: it goes to whom they may name, and the others stay. Answers who still has no 250. */
async function deliverToAll(t: TestContext, port: number, to: readonly string[]): Promise<string[]> {
  const { say, socket } = await speakSmtp(t, port);
  await say('EHLO far.example');
  await say(`MAIL FROM:<bob@far.example> SIZE=${letterIn().length}`);
  const named: string[] = [];
  for (const each of to) if ((await say(`RCPT TO:<${each}>`)).startsWith('250')) named.push(each);
  const isTaken = named.length > 0 && (await say('DATA')).startsWith('354') && (await say(`${letterIn()}.`)).startsWith('250');
  socket.destroy();
  return to.filter((each) => !isTaken || !named.includes(each));
}

for (const order of [
  [mine, theirs],
  [theirs, mine],
] as const)
  test(`mail for ${order.join(' and ')} reaches the one who has room, however long the other has none`, async (t) => {
    const { qd, port } = await mxScene(t, { env: { QUARTERDECK_EMAIL_INBOUND_QUOTA_BYTES: '4000' } });
    const other = await qd.organization('other');
    const endpoint = await listening(t);
    const { id } = await endpointAt(other, endpoint.url, 'email.bounced');
    await route(other, await armedDomain(qd, other, 'theirs.example.com'), '*', id);
    while ((await deliverTo(t, port)).startsWith('250'));

    // Servers come again after minutes.
    const now = performance.now.bind(performance);
    let later = 0;
    t.mock.method(performance, 'now', () => now() + later);
    let left: readonly string[] = order;
    for (let tries = 0; tries < 3 && left.includes(theirs); tries++) {
      later += 300_000;
      left = await deliverToAll(t, port, left);
    }
    assert.deepEqual(left, [mine]);
    await endpoint.heard(1);
  });

test('a message that takes several routes of an organization needs room for all of them', async (t) => {
  const { qd, port, domainId, endpointId } = await mxScene(t, { env: { QUARTERDECK_EMAIL_INBOUND_QUOTA_BYTES: '6000' }, pattern: 'a' });
  for (const pattern of ['b', 'c', 'd', 'e']) await route(qd.owner, domainId, pattern, endpointId);
  const to = ['a', 'b', 'c', 'd', 'e'].map((local) => `${local}@in.example.com`);
  assert.match(await deliverTo(t, port, { to }), /^452 4\.2\.2/);
  assert.match(await deliverTo(t, port, { to: to.slice(0, 1) }), /^452 4\.2\.2/, 'it was full a moment ago');
  assert.equal((await qd.owner.get('/email/messages?direction=receive')).body.messages.length, 0);
});
