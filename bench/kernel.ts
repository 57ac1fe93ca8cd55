/**
 * The promises of background work, measured: a real PostgreSQL with fsync, workers in processes of their own.
 * `npm run bench -- kernel`
 */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { pino } from 'pino';
import Type from 'typebox';
import type { App } from '../src/kernel/app.ts';
import { type Connection, type Db, openDb, row, run, type Tx } from '../src/kernel/db/index.ts';
import { makeRefusals } from '../src/kernel/fairness/index.ts';
import { enqueue, job, makeWaker, startWorker } from '../src/kernel/jobs/index.ts';
import { listen } from '../src/kernel/listen.ts';
import { migrate, readMigrations } from '../src/kernel/migrate.ts';
import { keepPostgres } from '../src/kernel/postgres/index.ts';

const nothing = job('bench.nothing', {}, async () => {});
const waits = job('bench.waits', {}, async () => sleep(50));
const CountRow = Type.Object({ n: Type.Integer() });

async function work(connection: Connection) {
  const db = openDb({ connection });
  const listener = await listen({ connection });
  const waker = makeWaker({ db, connection, listener });
  const log = pino({ level: 'warn' });
  const late: number[] = [];
  startWorker({
    app: { db, connection, listener, waker, log, refusals: makeRefusals(log), hold: { isHeld: false }, strict: false } as unknown as App,
    jobs: [nothing, waits],
    events: { started: ({ lateSeconds }) => late.push(lateSeconds * 1000) },
  });
  process.on('message', () => process.send!(late.splice(0)));
  process.on('disconnect', () => process.exit());
  process.send!('ready');
}

async function measure() {
  const dir = await mkdtemp(join(tmpdir(), 'qd-bench-'));
  await chmod(dir, 0o755);
  const postgres = await keepPostgres({ dataDir: join(dir, 'data') });
  const { connection } = postgres;
  const db = openDb({ connection });
  try {
    await migrate(connection, readMigrations([{ schema: 'kernel', folder: new URL('../src/kernel/migrations/', import.meta.url) }]));
    await db.read(
      (tx) =>
        run(
          tx,
        )`create table public.thing (id text primary key, org_id text not null, name text not null, created_at timestamptz(3) not null)`,
    );
    await db.read((tx) => run(tx)`create index on public.thing (org_id, name)`);
    console.log(`${availableParallelism()} cores, shared by PostgreSQL, the workers and this program\n`);
    await transactions(db);
    const one = await throughput(db, connection, 1);
    const two = await throughput(db, connection, 2);
    figure('throughput, jobs that wait 50 ms: 2 processes to 1', two.waits / one.waits, '×', '≥ 1.6', two.waits / one.waits >= 1.6);
    figure('throughput, jobs that do nothing: 2 processes to 1', two.nothing / one.nothing, '×', 'not promised: all share these cores');
    await spread(db, connection);
  } finally {
    await db.end();
    await postgres.stop();
    await rm(dir, { recursive: true, force: true });
  }
}

function figure(what: string, value: number, unit: string, target: string, met?: boolean) {
  const verdict = met === undefined ? '' : met ? 'met' : 'MISSED';
  console.log(`${what.padEnd(66)} ${value.toFixed(value < 100 ? 2 : 0).padStart(9)} ${unit.padEnd(6)} ${target.padEnd(10)} ${verdict}`);
  if (met === false) process.exitCode = 1;
}

async function workers(connection: Connection, n: number): Promise<{ late(): Promise<number[]>; stop(): Promise<void> }> {
  const children: ChildProcess[] = Array.from({ length: n }, () =>
    fork(fileURLToPath(import.meta.url), ['worker', JSON.stringify(connection)]),
  );
  await Promise.all(children.map((child) => once(child, 'message')));
  return {
    late: async () => {
      const answers = children.map(async (child) => {
        child.send('late?');
        return (await once(child, 'message'))[0] as number[];
      });
      return (await Promise.all(answers)).flat();
    },
    stop: async () => {
      for (const child of children) {
        child.kill('SIGKILL');
        await once(child, 'exit');
      }
    },
  };
}

/** Rows as `enqueue` makes them, from `fromSeconds` after now on, `overSeconds` long. */
const insert = (db: Db, kind: string, n: number, fromSeconds: number, overSeconds: number) =>
  db.write(
    (tx) => run(tx)`
    insert into kernel.job (lane, kind, key, payload, org_id, run_at, created_at)
    select 'default', ${kind}, gen_random_uuid()::text, '{"message": "msg_01J00000000000000000000000"}', 'org_01J00000000000000000000000',
           c.now + make_interval(secs => ${fromSeconds} + ${overSeconds}::float8 * i / ${n}), c.now
      from generate_series(1, ${n}) i, (select kernel.now() as now offset 0) c`,
  );

const left = async (db: Db, kind: string, limit = 1) =>
  (await db.read(
    (tx) =>
      row(
        tx,
        CountRow,
      )`select count(*) as n from (select from kernel.job where kind = ${kind} and run_at < kernel.now() + interval '30 minutes' limit ${limit})`,
  ))!.n;

async function drained(db: Db, kind: string) {
  while ((await left(db, kind)) > 0) await sleep(20);
}

/** From the moment they are due until none is left. */
async function drain(db: Db, kind: string, n: number): Promise<number> {
  const leadSeconds = 2;
  const before = performance.now();
  await insert(db, kind, n, leadSeconds, 0);
  const dueAt = before + leadSeconds * 1000;
  await sleep(Math.max(0, dueAt - performance.now()));
  await drained(db, kind);
  return (performance.now() - dueAt) / 1000;
}

async function throughput(db: Db, connection: Connection, processes: number) {
  const crew = await workers(connection, processes);
  await drain(db, nothing.kind, 2_000); // warm
  const seconds = await drain(db, nothing.kind, 10_000);
  const waiting = await drain(db, waits.kind, 4_000);
  await crew.stop();
  const who = processes === 1 ? '1 worker' : `${processes} workers`;
  if (processes === 2) figure(`10,000 due at once, drained by ${who}`, seconds, 's', '< 2', seconds < 2);
  else figure(`10,000 due at once, drained by ${who}`, seconds, 's', '');
  figure(`4,000 due at once that wait 50 ms each, drained by ${who}`, waiting, 's', '');
  return { nothing: 10_000 / seconds, waits: 4_000 / waiting };
}

async function spread(db: Db, connection: Connection) {
  await insert(db, nothing.kind, 100_000, 3_600, 86_400);
  const crew = await workers(connection, 2);
  await insert(db, nothing.kind, 500, 0, 1);
  await drained(db, nothing.kind);
  await crew.late();
  await insert(db, nothing.kind, 10_000, 1, 60);
  await sleep(61_500);
  await drained(db, nothing.kind);
  const late = (await crew.late()).sort((a, b) => a - b);
  await crew.stop();
  const at = (share: number) => late[Math.min(late.length - 1, Math.floor(late.length * share))]!;
  if (late.length !== 10_000) throw new Error(`${late.length} jobs ran instead of 10,000`);
  console.log('10,000 jobs spread over 60 s, 100,000 later ones waiting, 2 workers:');
  figure('  lateness, median', at(0.5), 'ms', '');
  figure('  lateness, p99', at(0.99), 'ms', '< 100', at(0.99) < 100);
  figure('  lateness, most', at(1), 'ms', '');
}

/** What an operation does: find, change, tell; and the same with a job. Interleaved, so that noise meets both. */
async function transactions(db: Db) {
  const org = 'org_01J00000000000000000000000';
  let n = 0;
  const change = async (tx: Tx) => {
    await run(tx)`select from public.thing where org_id = ${org} and name = ${`thing ${n++}`} for update`;
    await run(
      tx,
    )`insert into public.thing (id, org_id, name, created_at) values (kernel.new_id('thg'), ${org}, ${`thing ${n}`}, kernel.now())`;
  };
  const tell = (tx: Tx) => run(tx)`insert into kernel.audit (id, org_id, at, actor, actor_label, action, target, detail)
                                   values (kernel.new_id('aud'), ${org}, kernel.now(), 'usr_1', 'someone', 'thing.create', 'thg_1', '{}')`;
  const plain = async (tx: Tx) => {
    await change(tx);
    await tell(tx);
  };
  const withJob = async (tx: Tx) => {
    await change(tx);
    await Promise.all([tell(tx), enqueue(tx, nothing, { key: `job ${n}`, org, requestId: 'req_1', delaySeconds: 86_400 })]);
  };
  const timed = async (times: number, at: number, work: (tx: Tx) => Promise<unknown>) => {
    const began = performance.now();
    const one = async () => {
      for (let i = 0; i < times / at; i++) await db.write(work);
    };
    await Promise.all(Array.from({ length: at }, one));
    return (performance.now() - began) / times;
  };
  const median = (list: number[]) => list.toSorted((a, b) => a - b)[Math.floor(list.length / 2)]!;
  for (const at of [1, 8]) {
    await timed(400, at, withJob);
    const rounds = { plain: [] as number[], withJob: [] as number[] };
    for (let i = 0; i < 41; i++) {
      rounds.plain.push(await timed(80, at, plain));
      rounds.withJob.push(await timed(80, at, withJob));
    }
    const share = (median(rounds.withJob) / median(rounds.plain) - 1) * 100;
    figure(`a transaction that finds, changes and tells, ${at} at a time`, median(rounds.plain), 'ms', '');
    if (at === 1) figure('  a job in it adds', share, '%', '< 20', share < 20);
    else figure('  a job in it adds (no core is idle)', share, '%', '');
  }
  await db.read((tx) => run(tx)`truncate kernel.job`);
}

if (process.argv[2] === 'worker') await work(JSON.parse(process.argv[3]!));
else await measure();
