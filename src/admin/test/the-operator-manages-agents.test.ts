import assert from 'node:assert/strict';
import { test } from 'node:test';
import { quarterdeck } from '../../../test/harness/index.ts';
import { urlOf } from '../../../test/harness/postgres.ts';
import { agent, made, monitor } from '../../areas/uptime/test/support.ts';
import { adminHere, sqlOn } from './support.ts';

test('the operator registers agents, sees which of them report, and revokes them at once', async (t) => {
  const qd = await quarterdeck(t, { env: { QUARTERDECK_ROLES: 'api' } });
  const env = {
    QUARTERDECK_DATABASE_URL: urlOf(qd.connection),
    QUARTERDECK_DATA: qd.dataDir,
    QUARTERDECK_PUBLIC_URL: 'https://deck.example',
  };
  const admin = async (...args: string[]) => {
    const { code, out, err } = await adminHere(['agents', ...args], env);
    assert.equal(code, 0, err);
    return { out: out.trim(), err };
  };
  const refused = async (...args: string[]) => {
    const { code, err } = await adminHere(['agents', ...args], env);
    assert.notEqual(code, 0);
    return err;
  };
  assert.match((await admin('list')).out, /^no agent is registered/);
  assert.match(await refused('create', '--vantage', 'Tokyo!'), /lower-case letters/);
  assert.match(await refused('create', '--vantage', 'local'), /give this agent’s vantage another name/);
  assert.match(await refused('revoke', 'agt_nobody'), /unknown agent/);

  const { out: key, err } = await admin('create', '--vantage', 'tokyo', '--label', 'Tokyo, Japan');
  assert.match(key, /^qd_agent_[0-9A-Za-z]{38}$/);
  assert.match(err, /quarterdeck probe --server https:\/\/deck\.example/);
  assert.equal(err.includes(key), false);
  const listed = async () => JSON.parse((await admin('list', '--json')).out);
  const [never] = await listed();
  assert.deepEqual([never.vantage, never.state], ['tokyo', 'never seen']);

  const vantage = async () => (await made(qd.owner.get('/uptime/catalog'))).vantages.find((v: { id: string }) => v.id === 'tokyo');
  assert.deepEqual(await vantage(), { id: 'tokyo', label: 'Tokyo, Japan', available: false });
  const its = await agent(qd, 'tokyo', { token: { id: never.id, key } });
  assert.equal((await vantage()).available, true);
  const [seen] = await listed();
  assert.deepEqual([seen.state, seen.version], ['reporting', '0.0.0-test']);
  assert.match(seen['clock off by'], /^-?0\.\d s$/);
  const monitored = await monitor(qd.owner, ['tokyo']);
  await its.send([{ monitor: monitored.id }], { degraded: true });
  assert.equal((await listed())[0].state, 'degraded');
  assert.match((await admin('list')).out, /tokyo .* degraded/);
  await qd.clock.advance('46s');
  assert.equal((await listed())[0].state, 'silent');
  await its.session();

  const waiting = its.assignments((await its.assignments()).body.cursor);
  assert.match((await admin('revoke', never.id)).out, /is revoked/);
  assert.equal((await waiting).status, 401);
  assert.match(await refused('revoke', never.id), /unknown agent/);
  assert.equal((await its.send([{ monitor: monitored.id }])).status, 401);
  assert.equal(await vantage(), undefined, 'without an agent there is no such vantage to choose');
  const second = await admin('create', '--vantage', 'tokyo', '--json');
  const { token, server, id } = JSON.parse(second.out);
  assert.equal(server, 'https://deck.example');
  assert.match(token, /^qd_agent_/);
  const again = await agent(qd, 'tokyo', { token: { id, key: token } });
  await again.pass(monitored);

  const audited = await sqlOn<{ action: string }>(
    qd.connection,
    `select action from kernel.audit where action like 'uptime.agent.%' order by id`,
  );
  assert.deepEqual(
    audited.map((a) => a.action),
    ['uptime.agent.create', 'uptime.agent.revoke', 'uptime.agent.create'],
  );
  const stored = await sqlOn<{ row: string }>(qd.connection, 'select a::text as row from uptime.agent a');
  assert.equal(
    stored.some(({ row }) => row.includes(token)),
    false,
  );
});
