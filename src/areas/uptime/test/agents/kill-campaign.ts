import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import Type from 'typebox';
import { quarterdeck } from '../../../../../test/harness/index.ts';
import { KillableServers, makeChance } from '../../../../../test/harness/kill/index.ts';
import { scratch } from '../../../../../test/harness/process.ts';
import { rows } from '../../../../kernel/db/index.ts';
import type { Outcome } from '../../../../protocols/agent.ts';
import { allTransitions, eventually, made, monitor, type Said, type ScriptedAgent, untilTold, watched } from '../support.ts';

const Counted = Type.Object({ results: Type.Integer(), rolled: Type.Integer(), counted: Type.Integer(), seconds: Type.Number() });

interface Campaign {
  kills: number;
  monitors: number;
  /** Results of a batch. */
  each: number;
  /** Who follows a killed server is no process of its own, and begins at a sixth of the price: so there are two kills, one of each server. */
  isRevivedHere?: boolean;
}

/**
 * Whole servers, killed without a word while agents deliver batches as real ones do: to whoever answers, the same one again until it
 * is acknowledged. A third server, which is never killed, is where the test looks.
 */
export async function killDuringBatches(t: TestContext, { kills, monitors: many, each, isRevivedHere = false }: Campaign): Promise<void> {
  const qd = await quarterdeck(t, { env: { QUARTERDECK_ROLES: 'api', QUARTERDECK_UPTIME_MONITOR_QUOTA: '1000' } });
  const { dir } = await scratch(t);
  const { connection, dataDir } = qd;
  const chance = makeChance(t);
  const servers = new KillableServers(t, { dir, dataDir, connection, count: 2, env: () => ({ QUARTERDECK_ROLES: 'api,worker' }) });
  await servers.startMissing();
  const vantages = ['tokyo', 'paris', 'lima'];
  const { id: serviceId } = await made(qd.owner.post('/uptime/services', { name: 'shop' }));
  const { agents, monitor: first } = await watched(qd, vantages, { serviceId });
  const watchedAll: { id: string }[] = [first];
  while (watchedAll.length < many) watchedAll.push(await monitor(qd.owner, vantages, { serviceId }));

  let over = false;
  let batches = 0;
  let repeated = 0;
  const busy = [0, 0];
  const sent = new Map<string, number>();
  const deliver = async (by: ScriptedAgent, results: Said[]) => {
    const seq = ++by.seq;
    for (let n = chance.below(2), tries = 0; ; n++, tries++) {
      const to = (await Promise.race([servers.url(n % 2), sleep(100)])) ?? qd.url;
      busy[n % 2]!++;
      const answer = await by
        .send(results, { seq, to })
        .catch(() => undefined)
        .finally(() => busy[n % 2]!--);
      if (answer?.status === 200) {
        batches++;
        if (tries) repeated++;
        for (const r of results) sent.set(`${by.vantage} ${r.monitor}`, (sent.get(`${by.vantage} ${r.monitor}`) ?? 0) + 1);
        return;
      }
      assert.ok(!answer || answer.status >= 500, `${answer?.status} ${JSON.stringify(answer?.body)}`);
      await sleep(20);
    }
  };
  const work = agents.map(async (by) => {
    for (let turn = 0; !over; turn++) {
      // A few go down and up together, so that there are alerts to tell while servers die.
      const results = Array.from({ length: each }, (_, i) => (turn * each + i) % many).map((which) => {
        const outcome: Outcome = which % 7 === 0 && Math.floor(turn / 5) % 2 === 1 ? 'error' : 'pass';
        return { monitor: watchedAll[which]!.id, outcome };
      });
      await deliver(by, results);
    }
  });
  for (let i = 0; i < kills; i++) {
    await sleep(100 + chance.below(400));
    const victim = isRevivedHere ? i : chance.below(2);
    await eventually(async () => busy[victim]! > 0, { withinMs: 2_000, everyMs: 1 }).catch(() => {}); // in the middle of a batch, if there is one
    await servers.kill(victim);
    if (isRevivedHere) void servers.takeOver(victim);
    else servers.start(victim);
  }
  await Promise.all([servers.url(0), servers.url(1)]);
  await sleep(200);
  over = true;
  await Promise.all(work);

  for (const { id } of watchedAll)
    for (const vantage of vantages) {
      const [found] = await qd.app.db.read(
        (tx) => rows(tx, Counted)`
          select (select count(*)::int from uptime.check_result r where r.monitor_no = m.no and r.vantage_no = v.no) as results,
                 (select coalesce(sum(n + missed + excluded), 0)::int from uptime.check_rollup r where r.monitor_no = m.no and r.vantage_no = v.no) as rolled,
                 (s.passed + s.failed + s.errors + s.missed)::int as counted, s.latency_sum as seconds
            from uptime.monitor m, uptime.vantage v, uptime.vantage_state s
           where m.id = ${id} and v.id = ${vantage} and s.monitor_id = m.id and s.vantage = v.id`,
      );
      const n = sent.get(`${vantage} ${id}`) ?? 0;
      assert.deepEqual([found!.results, found!.rolled, found!.counted], [n, n, n], `${id} from ${vantage}: acknowledged ${n}`);
    }
  // States and on-call agree with each other, whoever died in between.
  let changes = 0;
  for (const its of watchedAll) {
    const transitions = await allTransitions(qd, its);
    for (const [i, x] of transitions.entries()) if (i) assert.equal(x.from_state, transitions[i - 1]!.to_state);
    changes += transitions.length;
  }
  const down = await Promise.all(watchedAll.map(async ({ id }) => (await made(qd.owner.get(`/uptime/monitors/${id}`))).state === 'down'));
  await untilTold(qd, 60_000); // what a killed worker had claimed is told once its lease is over
  const Firing = Type.Object({ ours: Type.Integer(), theirs: Type.Integer() });
  const [firing] = await qd.app.db.read(
    (tx) => rows(tx, Firing)`
      select (select count(*)::int from uptime.monitor_state where alert_since is not null) as ours,
             (select count(*)::int from oncall.alert where status = 'firing') as theirs`,
  );
  assert.equal(firing!.ours, firing!.theirs, 'on-call has exactly the alerts that we believe it has');
  assert.ok(firing!.ours >= down.filter(Boolean).length);
  t.diagnostic(`${batches} batches, ${repeated} sent more than once, ${changes} changes of state, ${kills} kills`);
  assert.ok(repeated > 0, 'no kill hit a batch');
}
