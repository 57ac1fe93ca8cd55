/**
 * One incident from its alert to its acknowledgement, the server killed before the first statement of it, after the first, before
 * the second … until it lives through all of it. Each time another worker, which stood still meanwhile, takes over.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import Type from 'typebox';
import { phoneWard } from '../../src/areas/oncall/test/phone-support.ts';
import { alert, covered, eventually, group, made, overdue, source, user } from '../../src/areas/oncall/test/support.ts';
import { rows } from '../../src/kernel/db/index.ts';
import { atStatement, KillableServers } from '../harness/kill/index.ts';
import { scratch } from '../harness/process.ts';
import { caller } from '../harness/request.ts';

const PageRow = Type.Object({ channel: Type.String(), state: Type.String() });
const everyNth = Number(process.env.QUARTERDECK_FAULT_STRIDE ?? 1);

test('killed at any statement between an alert and its acknowledgement, a page goes out once', { timeout: 3_600_000 }, async (t) => {
  const qd = await phoneWard(
    t,
    [
      { channel: 'sms', delaySeconds: 0 },
      { channel: 'voice', delaySeconds: 600 },
    ],
    { env: { QUARTERDECK_ROLES: 'api' } },
  );
  const { dir } = await scratch(t);
  const env = { QUARTERDECK_TWILIO_URL: qd.twilio.url, QUARTERDECK_PUBLIC_URL: qd.url };
  const servers = new KillableServers(t, { dir, dataDir: qd.dataDir, connection: qd.connection, env: () => env });
  const other = servers.start(1);
  await other.ready;
  const { policy } = await covered(qd.owner, { steps: [[user(qd.alice), 3600]] });
  const given = (title: string, kind: string) => qd.twilio.sent.filter((s) => s.kind === kind && s.text.includes(title)).length;
  const calm = () =>
    eventually(
      async () => {
        for (let look = 0; look < 8; look++, await sleep(100)) if ((await overdue(qd)) === 0) return true;
        await qd.clock.advance('31s');
        return false;
      },
      { withinMs: 60_000 },
    );

  let points = 0;
  for (let n = 1, lived = false; !lived; n += everyNth) {
    for (const moment of ['before', 'after']) {
      const title = `x${n}${moment}x`;
      const service = await made(qd.owner.post('/oncall/services', { name: title }));
      await made(qd.owner.put(`/oncall/services/${service.id}`, { escalationPolicyId: policy.id }));
      const its = await source(qd.owner, qd.url, service.id);
      other.signal('SIGSTOP');
      const victim = servers.start(0, atStatement('oncall', `${moment}:${n}`));
      const victimUrl = await victim.ready.catch(() => undefined);
      const body = group([{ ...alert(title), annotations: { summary: title, description: '' } }]);
      const deliver = (url: string) =>
        caller(url, its.token)
          .post(`/oncall/alert-sources/${its.id}/alerts`, body)
          .catch(() => undefined);
      const first = victimUrl ? await deliver(victimUrl) : undefined;
      if (first?.status === 200) await eventually(async () => servers.isDead() || given(title, 'message') === 1);
      else await victim.exited;
      const incident = async () =>
        (await made(qd.owner.get('/oncall/incidents'))).incidents.find((i: { title: string }) => i.title === title);
      if (first?.status === 200) await eventually(async () => servers.isDead() || (await overdue(qd)) === 0); // its own word that the page went out
      if (!servers.isDead() && victimUrl) {
        const { id } = await incident();
        const said = await caller(victimUrl, qd.owner.key)
          .post(`/oncall/incidents/${id}/ack`)
          .catch(() => undefined);
        lived = !servers.isDead() && said?.status === 200;
        await victim.killed();
      }
      other.signal('SIGCONT');
      if (first?.status !== 200) assert.equal((await eventually(async () => deliver(qd.url)))?.status, 200);
      await calm();
      const found = await incident();
      assert.equal(given(title, 'message'), 1, `${title}: paged ${given(title, 'message')} times`);
      if (found.status === 'open') await made(qd.owner.post(`/oncall/incidents/${found.id}/ack`));
      await qd.clock.advance('11m');
      await calm();
      const pages = await qd.app.db.read(
        (tx) => rows(tx, PageRow)`select channel, state from oncall.page where incident_id = ${found.id} order by rule_index`,
      );
      assert.deepEqual(
        pages.map((p) => [p.channel, ['sent', 'delivered'].includes(p.state) ? 'out' : p.state]),
        [
          ['sms', 'out'],
          ['voice', 'canceled'],
        ],
        title,
      );
      assert.equal(given(title, 'call'), 0, `${title}: called although acknowledged`);
      points++;
    }
  }
  t.diagnostic(`${points} moments`);
});
