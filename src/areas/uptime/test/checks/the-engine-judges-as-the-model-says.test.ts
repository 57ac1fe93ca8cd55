import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import fc from 'fast-check';
import Type from 'typebox';
import { type Quarterdeck, quarterdeck } from '../../../../../test/harness/index.ts';
import { freshDatabase } from '../../../../../test/harness/postgres.ts';
import { row } from '../../../../kernel/db/index.ts';
import { agent, allTransitions, made, monitor, type ScriptedAgent } from '../support.ts';
import { Model } from './down-model.ts';

const vantages = ['tokyo', 'paris', 'lima'];

const step = fc.oneof(
  {
    weight: 16,
    arbitrary: fc.record({
      is: fc.constant('report' as const),
      vantage: fc.nat({ max: 2 }),
      results: fc.array(
        fc.record({
          outcome: fc.constantFrom(
            'pass' as const,
            'pass' as const,
            'fail' as const,
            'error' as const,
            'error' as const,
            'missed' as const,
          ),
          age: fc.oneof({ weight: 6, arbitrary: fc.nat({ max: 9 }) }, { weight: 1, arbitrary: fc.constantFrom(50, 110, 125, 3_600) }),
        }),
        { minLength: 1, maxLength: 3 },
      ),
      degraded: fc.integer({ min: 0, max: 9 }).map((n) => n === 0),
      twice: fc.boolean(),
    }),
  },
  { weight: 6, arbitrary: fc.record({ is: fc.constant('all' as const), outcome: fc.constantFrom('pass' as const, 'error' as const) }) },
  {
    weight: 8,
    arbitrary: fc.record({ is: fc.constant('wait' as const), by: fc.constantFrom('7s', '13s', '40s', '3m', '1h', '-1h', '-7s') }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      is: fc.constant('edit' as const),
      confirmations: fc.integer({ min: 1, max: 3 }),
      quorum: fc.integer({ min: 1, max: 3 }),
      intervalSeconds: fc.constantFrom(30, 60, 120),
    }),
  },
  { weight: 1, arbitrary: fc.record({ is: fc.constantFrom('other target' as const, 'pause' as const, 'resume' as const) }) },
);

const Seen = Type.Object({ at: Type.Integer() });
const ms = ({ app }: Quarterdeck, what: 'instance' | 'began', id: string) =>
  app.db.read(
    async (tx) =>
      (what === 'instance'
        ? await row(tx, Seen)`select round(extract(epoch from seen_at) * 1000)::bigint as at from uptime.instance where id = ${id}`
        : await row(
            tx,
            Seen,
          )`select round(extract(epoch from began_at) * 1000)::bigint as at from uptime.monitor_state where monitor_id = ${id}`)!.at / 1000,
  );

test('servers and database together judge as the model says, through edits, late batches, clocks and restarts', {
  timeout: 120_000,
}, async (t) => {
  const { connection, drop } = await freshDatabase();
  const dataDir = await mkdtemp(join(tmpdir(), 'qdu-'));
  const start = () => quarterdeck(t, { connection, dataDir, env: { QUARTERDECK_ROLES: 'api' } });
  let qd = await start();
  t.after(async () => {
    await qd.stop();
    await drop();
    await rm(dataDir, { recursive: true, force: true });
  });
  const tokens = await Promise.all(vantages.map((v) => agent(qd, v)));
  let runs = 0;
  let transitions = 0;

  const story = fc.array(step, { minLength: 15, maxLength: 30 });
  await fc.assert(
    fc.asyncProperty(story, async (steps) => {
      if (runs++ % 4 === 2) {
        await qd.stop();
        qd = await start();
      }
      const agents: ScriptedAgent[] = [];
      for (const { id, token, vantage } of tokens) agents.push(await agent(qd, vantage, { token: { id, key: token } }));
      const its = await monitor(qd.owner, vantages);
      const model = new Model({ vantages, confirmations: 2, quorum: 2, interval: 60, timeout: 10 }, await ms(qd, 'began', its.id));
      const patch = (body: Record<string, unknown>) => made(qd.owner.patch(`/uptime/monitors/${its.id}`, body));
      for (const s of steps) {
        if (s.is === 'wait') await qd.clock.advance(s.by);
        if (s.is === 'report') {
          const by = agents[s.vantage]!;
          const batch = s.results.map((r) => ({ monitor: its.id, outcome: r.outcome, ageMs: r.age * 1000, epoch: model.epoch }));
          assert.equal((await by.send(batch, { degraded: s.degraded })).status, 200);
          const now = await ms(qd, 'instance', by.instance);
          if (s.twice) assert.equal((await by.send(batch, { seq: by.seq })).status, 200);
          const inOrder = s.results.toSorted((a, b) => b.age - a.age);
          for (const { outcome, age } of inOrder) model.report(vantages[s.vantage]!, outcome, now - age, now, { degraded: s.degraded });
        }
        if (s.is === 'all')
          for (const each of agents) {
            await each.report({ monitor: its.id, outcome: s.outcome, epoch: model.epoch });
            const now = await ms(qd, 'instance', each.instance);
            model.report(each.vantage, s.outcome, now, now);
          }
        if (s.is === 'edit') {
          const { confirmations, quorum, intervalSeconds } = s;
          const same =
            confirmations === model.settings.confirmations &&
            quorum === model.settings.quorum &&
            intervalSeconds === model.settings.interval;
          await patch({ intervalSeconds, downCondition: { confirmations, quorum } });
          if (!same) model.edit({ confirmations, quorum, interval: intervalSeconds }, await ms(qd, 'began', its.id));
        }
        if (s.is === 'other target' && model.enabled) {
          await patch({ http: { url: `https://checked.example/${model.epoch}` } });
          model.startOver(await ms(qd, 'began', its.id));
        }
        if (s.is === 'pause' && model.enabled) {
          await patch({ enabled: false });
          model.enabled = false;
          model.stop(await ms(qd, 'began', its.id));
        }
        if (s.is === 'resume' && !model.enabled) {
          await patch({ enabled: true });
          model.startOver(await ms(qd, 'began', its.id));
        }
      }
      const round = (at: number) => Math.round(at * 1000);
      const stored = await allTransitions(qd, its);
      assert.deepEqual(
        stored.map((x) => ({ at: Date.parse(x.at), from: x.from_state, to: x.to_state })),
        model.transitions.map((x) => ({ at: round(x.at), from: x.from, to: x.to })),
      );
      const { failures } = await made(qd.owner.get(`/uptime/monitors/${its.id}/failures`));
      assert.equal(failures.length, Math.min(100, model.failures.length));
      assert.equal((await made(qd.owner.get(`/uptime/monitors/${its.id}`))).state, model.state);
      transitions += stored.length;
      await made(qd.owner.delete(`/uptime/monitors/${its.id}`));
    }),
    { numRuns: 8, endOnFailure: true },
  );
  t.diagnostic(`${runs} stories, ${transitions} changes of state`);
  assert.ok(transitions > 4);
});
