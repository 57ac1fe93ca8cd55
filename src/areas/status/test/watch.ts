import { randomUUID } from 'node:crypto';
import { run, type Tx } from '../../../kernel/db/index.ts';
import { now } from '../../../kernel/time.ts';
import { publicChanged } from '../../services/index.ts';
import { type House, made } from './support.ts';

type State = 'pending' | 'up' | 'down';

interface Seen {
  state: State;
  /** Watched since the beginning of the day so many days ago, today being the first of them; 0: never. */
  days?: number;
  /** By how many days ago, the seconds that it was down on that day. Today: the last so many. */
  down?: Record<number, number>;
  /** No check has run since midnight: the data does not change during a test. */
  still?: boolean;
}

const dayMs = 86_400_000;

/** A monitor of the service, with the state and the transitions that probes would have left. Nothing is probed: it is disabled. */
export async function watch(qd: House, serviceId: string, { state, days = 0, down = {}, still = false }: Seen) {
  await localReports(qd);
  const { id } = await made(
    qd.owner.post('/uptime/monitors', {
      name: `watches ${serviceId}`,
      kind: 'http',
      enabled: false,
      intervalSeconds: 60,
      vantages: ['local'],
      serviceId,
      http: { url: 'https://shop.example/health' },
    }),
  );
  const at = Date.parse(await qd.app.db.read(now));
  const today = Math.floor(at / dayMs) * dayMs;
  const changes: [since: number, to: State][] = days ? [[today - (days - 1) * dayMs, 'up']] : [];
  for (const [ago, seconds] of Object.entries(down).map(([n, s]) => [Number(n), s] as const)) {
    if (ago === 0) continue;
    const noon = today - ago * dayMs + dayMs / 2;
    changes.push([noon, 'down'], [noon + seconds * 1000, 'up']);
  }
  if (still && days) changes.push([today, 'pending']);
  else if (down[0]) changes.push([Math.max(today, at - down[0] * 1000), 'down']);
  changes.sort(([a], [b]) => a - b);
  await qd.app.db.write(async (tx) => {
    let from: State = 'pending';
    for (const [since, to] of changes) {
      await transition(tx, qd, id, from, to, new Date(since).toISOString());
      from = to;
    }
    await run(tx)`update uptime.monitor_state set state = ${state} where monitor_id = ${id}`;
    await publicChanged(tx, qd.owner.orgId);
  });

  return {
    /** Probes find it otherwise from now on. */
    turn: (to: State) =>
      qd.app.db.write(async (tx) => {
        const since = await now(tx);
        await transition(tx, qd, id, state, to, since);
        await run(tx)`update uptime.monitor_state set state = ${to}, since = ${since} where monitor_id = ${id}`;
        await publicChanged(tx, qd.owner.orgId);
        state = to;
      }),
  };
}

const transition = (tx: Tx, { owner }: House, monitorId: string, from: State, to: State, since: string) => run(tx)`
  insert into uptime.transition (org_id, id, monitor_id, at, from_state, to_state, failing_vantages, since)
  values (${owner.orgId}, kernel.new_id('tra'), ${monitorId}, ${since}, ${from}, ${to}, '{}', ${since})`;

/** Monitors need a vantage that reports. */
const localReports = ({ app }: House) =>
  app.db.write(async (tx) => {
    await run(tx)`insert into uptime.vantage (id, label, created_at) values ('local', 'local', kernel.now()) on conflict do nothing`;
    await run(tx)`
      insert into uptime.instance (id, vantage, version, standby, connected_at, seen_at)
      values (${randomUUID()}, 'local', 'test', true, kernel.now(), '2200-01-01T00:00:00Z')`;
  });
