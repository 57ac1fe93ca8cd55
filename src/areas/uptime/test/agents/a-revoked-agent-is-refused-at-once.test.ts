import assert from 'node:assert/strict';
import { test } from 'node:test';
import { quarterdeck } from '../../../../../test/harness/index.ts';
import { openRace } from '../../../../../test/harness/race.ts';
import { topics } from '../../../../identity/principal.ts';
import { agentRegistry } from '../../index.ts';
import { revokeAgent } from '../../store/agents.ts';
import { agent, history, watched } from '../support.ts';

test('a revoked agent is refused at once, wherever it was admitted before, and its waiting question ends', async (t) => {
  const qd = await quarterdeck(t);
  const beside = await quarterdeck(t, { connection: qd.connection, dataDir: qd.dataDir });
  const { agents, monitor } = await watched(qd, ['tokyo']);
  const tokyo = agents[0]!;
  const twin = await agent(qd, 'tokyo', { token: { id: tokyo.id, key: tokyo.token }, at: beside.url });
  const { body: here } = await tokyo.assignments();
  const { body: there } = await twin.assignments();
  const cursors = [(await tokyo.assignments()).body.cursor, there.cursor];
  assert.notEqual(here.cursor, '');
  const waiting = [tokyo.assignments(cursors[0]), twin.assignments(cursors[1])];
  await tokyo.pass(monitor);

  const began = performance.now();
  await qd.app.db.write(async (tx) => {
    await revokeAgent(tx, tokyo.id);
    await qd.app.caches.drop(tx, topics.credential(tokyo.id));
  });
  for (const { status, body } of await Promise.all(waiting)) assert.equal(status, 401, JSON.stringify(body));
  assert.ok(performance.now() - began < 2_000, 'long before the question would have ended by itself');
  for (const one of [tokyo, twin]) assert.equal((await one.send([{ monitor: monitor.id }])).status, 401);
  assert.equal((await history(qd, monitor)).results, 1);
});

test('an agent that is revoked while its results wait reports nothing and opens no session', async (t) => {
  const qd = await quarterdeck(t);
  const { agents, monitor } = await watched(qd, ['tokyo']);
  const tokyo = agents[0]!;
  const before = (await history(qd, monitor)).results;
  const race = await openRace(qd.connection);
  t.after(race.close);
  await race.hold('select from uptime.agent where id = $1 for update', [tokyo.id]);
  const revoked = qd.app.db.write((tx) => agentRegistry.revokeAgent(tx, tokyo.id));
  await race.untilWaiting(1);
  const reported = tokyo.send([{ monitor: monitor.id }]);
  const opened = agent(qd, 'tokyo', { token: { id: tokyo.id, key: tokyo.token } });
  opened.catch(() => {});
  await race.untilWaiting(3);
  await race.release();
  await revoked;
  assert.equal((await reported).status, 401);
  await assert.rejects(opened);
  assert.equal((await history(qd, monitor)).results, before);
});
