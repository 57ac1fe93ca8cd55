/**
 * Background work under whatever can happen to processes, to PostgreSQL and to the clock, at random, for
 * QUARTERDECK_FAULT_MINUTES (default 1.5). A seed in QUARTERDECK_FAULT_SEED repeats the order of faults, though not their timing.
 */
import assert from 'node:assert/strict';
import { type ChildProcess, fork } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { chmod, mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { pino } from 'pino';
import type { App } from '../../src/kernel/app.ts';
import { type Connection, type Db, openDb, run, type Tx } from '../../src/kernel/db/index.ts';
import { makeRefusals } from '../../src/kernel/fairness/index.ts';
import {
  cancel,
  clockMoved,
  enqueue,
  type Job,
  job,
  makeWaker,
  RetryIn,
  reschedule,
  startWorker,
  wake,
} from '../../src/kernel/jobs/index.ts';
import { listen } from '../../src/kernel/listen.ts';
import { migrate, readMigrations } from '../../src/kernel/migrate.ts';
import { type EmbeddedPostgres, keepPostgres } from '../../src/kernel/postgres/index.ts';
import { moveClock } from '../../src/kernel/time.ts';

const isWorker = process.argv[2] === 'worker';

const began = (key: string) => (tx: Tx) => run(tx)`insert into public.deed (what, key) values ('began', ${key})`;
const effect = (key: string) => (tx: Tx) => run(tx)`insert into public.deed (what, key) values ('effect', ${key})`;
const patient = { retry: () => 0.2, maxAttempts: 100_000 };

/** Ends by itself: its outcome goes through the recorder. Every other one is slow and deaf to its signal. */
const plain = job('plain', patient, async ({ app, key }) => {
  await app.db.read(began(key));
  if (randomInt(2) === 0) await sleep(randomInt(500, 4_000));
});
/** Ends in the transaction of its effect, which therefore happens once. */
const exact = job('exact', { ...patient, lane: 'mail' }, async ({ app, key, finishWith }) => {
  await app.db.read(began(key));
  await finishWith(effect(key));
});
const slow = job('slow', patient, async ({ app, key, signal, finishWith }) => {
  await app.db.read(began(key));
  await sleep(randomInt(200, 3_000), undefined, { signal });
  await finishWith(effect(key));
});
const flaky = job('flaky', { ...patient, lane: 'webhook' }, async ({ app, key, attempt, fence }) => {
  await app.db.write(async (tx) => {
    await fence(tx);
    await began(key)(tx);
  });
  if (attempt % 3 !== 0) throw new RetryIn(0.3, 'not this time');
});
/** Looks at something that changes while it looks. */
const again = job('again', { ...patient, lane: 'page' }, async ({ app, key }) => {
  await app.db.read(began(key));
  await sleep(randomInt(200, 1_500));
});
/** Made by another job, in its transaction: it begins in the process that made it, or wherever it is found after that one was killed. */
const born = job('born', { ...patient, beginsHere: true }, async ({ key, finishWith }) => {
  await finishWith((tx) => Promise.all([began(key)(tx), effect(key)(tx)]));
});
const parent = job('parent', { ...patient, lane: 'mail' }, async ({ app, key, finishWith }) => {
  await app.db.read(began(key));
  await finishWith((tx) => Promise.all([effect(key)(tx), enqueue(tx, born, { key: childOf(key) })]));
});
const childOf = (key: string) => key.replace('parent', 'born');
const jobs: Job[] = [plain, exact, slow, flaky, again] as Job[];

if (isWorker) await work(JSON.parse(process.argv[3]!));
else test('the campaign', { timeout: Infinity }, campaign);

async function work(connection: Connection) {
  const db = openDb({ connection });
  const listener = await listen({ connection }).catch(() => process.exit(1)); // the database is away; we are started again
  const waker = makeWaker({ db, connection, listener });
  const log = pino({ level: 'silent' });
  const app = {
    db,
    connection,
    listener,
    waker,
    log,
    refusals: makeRefusals(log),
    hold: { isHeld: false },
    strict: false,
  } as unknown as App;
  const worker = startWorker({
    app,
    jobs: [...jobs, parent as Job, born as Job],
    renewEveryMs: 1_000,
    events: { ended: ({ id, attempt, outcome }) => process.connected && process.send!({ id, attempt, outcome }) },
  });
  process.on('SIGTERM', async () => {
    await worker.stop({ graceMs: 500 });
    process.exit();
  });
  process.on('disconnect', () => process.exit());
}

/** xorshift: the order of faults can be had again from its seed. */
function dice(seed: number) {
  let x = seed | 1;
  return (below: number) => {
    x ^= x << 13;
    x ^= x >>> 17;
    x ^= x << 5;
    return (x >>> 0) % below;
  };
}

async function family(pid: number): Promise<number[]> {
  const all = await Promise.all(
    (await readdir('/proc'))
      .filter((entry) => /^\d+$/.test(entry))
      .map(async (entry) => {
        const stat = await readFile(`/proc/${entry}/stat`, 'utf8').catch(() => '');
        return { pid: Number(entry), parent: Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]) };
      }),
  );
  return [pid, ...all.filter((p) => p.parent === pid).map((p) => p.pid)];
}

const signal = (pid: number, name: NodeJS.Signals) => {
  try {
    process.kill(pid, name);
  } catch {} // it ended by itself
};

async function campaign(t: { diagnostic(message: string): void }) {
  const minutes = Number(process.env['QUARTERDECK_FAULT_MINUTES'] ?? 1.5);
  const seed = Number(process.env['QUARTERDECK_FAULT_SEED'] ?? randomInt(2 ** 31));
  const roll = dice(seed);
  const dir = await mkdtemp(join(tmpdir(), 'qd-campaign-'));
  await chmod(dir, 0o755);
  const keep = () => keepPostgres({ dataDir: join(dir, 'data') });
  let postgres: EmbeddedPostgres = await keep();
  const { connection } = postgres;
  await migrate(connection, readMigrations([{ schema: 'kernel', folder: new URL('../../src/kernel/migrations/', import.meta.url) }]));
  const db = openDb({ connection, max: 4 });
  await db.pool.query(watching);

  let over = false;
  const ended = new Map<string, number>();
  const done = new Map<number, number[]>();
  const crew: ChildProcess[] = [];
  const hire = () => {
    const child = fork(fileURLToPath(import.meta.url), ['worker', JSON.stringify(connection)], { execArgv: [] });
    child.on('message', ({ id, attempt, outcome }: { id: number; attempt: number; outcome: string }) => {
      ended.set(outcome, (ended.get(outcome) ?? 0) + 1);
      if (outcome === 'done') done.set(id, [...(done.get(id) ?? []), attempt]);
    });
    crew.push(child);
    child.on('exit', () => {
      if (over || !crew.includes(child)) return;
      crew.splice(crew.indexOf(child), 1);
      setTimeout(hire, 200);
    });
  };
  const fire = async (child: ChildProcess | undefined, how: NodeJS.Signals) => {
    if (!child) return;
    crew.splice(crew.indexOf(child), 1);
    const gone = once(child, 'exit');
    child.kill(how);
    await Promise.race([gone, sleep(5_000, undefined, { ref: false })]);
    child.kill('SIGKILL');
    hire();
  };

  const made = new Map<string, 'certain' | 'perhaps' | 'cancelled'>();
  const insisted = new Set<string>();
  const produce = async () => {
    for (let n = 0; !over; n++) {
      await sleep(10);
      const [kind, key] = [jobs[n % jobs.length]!, `${jobs[n % jobs.length]!.kind}-${n}`];
      const inserted = await db
        .write((tx) => enqueue(tx, kind, { key, delaySeconds: kind === (again as Job) ? 0 : (n % 4) / 2 }))
        .catch(() => undefined);
      made.set(key, inserted ? 'certain' : 'perhaps');
      if (n % 3 === 0) {
        const inserts = await db.write((tx) => enqueue(tx, parent, { key: `parent-${n}` })).catch(() => undefined);
        made.set(`parent-${n}`, inserts ? 'certain' : 'perhaps');
      }
      if (n % 50 === 0) await db.write((tx) => quit(tx, exact, `exact-${n + 1 - 25}`)).catch(() => {});
      const running = `again-${n - 21}`;
      if (n % 5 === 0 && (await db.write((tx) => insist(tx, running)).catch(() => false))) insisted.add(running);
    }
  };
  const quit = async (tx: Tx, kind: Job, key: string) => {
    await run(tx)`select set_config('application_name', 'canceller', true)`;
    tx.afterCommit(() => made.set(key, 'cancelled'));
    if (!(await cancel(tx, kind, key))) throw new Error('nothing to cancel');
  };
  const insist = async (tx: Tx, key: string) => {
    const moved = await reschedule(tx, again, key);
    if (moved) await run(tx)`insert into public.deed (what, key) values ('insisted', ${key})`;
    return moved;
  };

  const someone = (): ChildProcess | undefined => crew[roll(Math.max(1, crew.length))];
  const advance = (seconds: number) =>
    db
      .write(async (tx) => {
        await moveClock(tx, seconds);
        wake(tx, clockMoved);
      })
      .catch(() => {});
  const freeze = async (ms: number) => {
    const all = await family(postgres.pid);
    for (const pid of all) signal(pid, 'SIGSTOP');
    await sleep(ms);
    for (const pid of all) signal(pid, 'SIGCONT');
  };
  const suspend = async (ms: number, leap: number) => {
    const child = someone();
    child?.kill('SIGSTOP');
    if (leap) await advance(leap);
    await sleep(ms);
    child?.kill('SIGCONT');
  };
  const faults: Record<string, () => Promise<unknown>> = {
    'kill -9 of a worker': () => fire(someone(), 'SIGKILL'),
    'kill -9 of two workers': async () => {
      await fire(someone(), 'SIGKILL');
      await fire(someone(), 'SIGKILL');
    },
    'a worker stopped as it should be': () => fire(someone(), 'SIGTERM'),
    'a worker suspended briefly': () => suspend(100 + roll(2_000), 0),
    'a worker suspended beyond its leases': () => suspend(500 + roll(2_000), 31),
    'the clock forward': () => advance(1 + roll(60)),
    'the clock back': () => advance(-1 - roll(20)),
    'the database frozen': () => freeze(100 + roll(3_000)),
    'the database frozen beyond every timeout': () => (roll(4) ? freeze(1_000) : freeze(12_000)),
    'kill -9 of the database': async () => {
      const { pid, exited } = postgres;
      signal(pid, 'SIGKILL');
      await exited;
      postgres = await keep();
    },
  };

  try {
    for (let i = 0; i < 3; i++) hire();
    const producing = produce();
    const happened: Record<string, number> = {};
    const until = performance.now() + minutes * 60_000;
    while (performance.now() < until) {
      await sleep(200 + roll(1_500));
      const names = Object.keys(faults);
      const name = names[roll(names.length)]!;
      happened[name] = (happened[name] ?? 0) + 1;
      await faults[name]!();
    }
    over = true;
    await producing;
    await settle(db, advance);
    await sleep(500);
    t.diagnostic(
      `seed ${seed}; ${made.size} jobs; faults ${JSON.stringify(happened)}; attempts ${JSON.stringify(Object.fromEntries(ended))}`,
    );
    await judge(db, made, insisted, done);
  } finally {
    over = true;
    for (const child of crew) child.kill('SIGKILL');
    await db.end();
    await postgres.stop();
    await rm(dir, { recursive: true, force: true, maxRetries: 10 });
  }
}

/** Every claim and every end of a job, seen from inside the database. */
const watching = `
  create table public.deed (n bigint generated always as identity, what text, key text);
  create table public.claimed (n bigint generated always as identity, id bigint, lease uuid, attempts int);
  create table public.gone (id bigint, kind text, key text, lease uuid, attempts int, by_name text);
  create function public.on_claim() returns trigger language plpgsql as
    $$ begin insert into public.claimed (id, lease, attempts) values (new.id, new.lease, new.attempts); return null; end $$;
  create trigger claimed after update of lease on kernel.job for each row
    when (new.lease is not null and new.lease is distinct from old.lease) execute function public.on_claim();
  create trigger born after insert on kernel.job for each row when (new.lease is not null) execute function public.on_claim();
  create function public.on_gone() returns trigger language plpgsql as
    $$ begin insert into public.gone values (old.id, old.kind, old.key, old.lease, old.attempts, current_setting('application_name')); return null; end $$;
  create trigger gone after delete on kernel.job for each row execute function public.on_gone();`;

/** No more faults: everything must come to its end, once pauses and leases have passed. */
async function settle(db: Db, advance: (seconds: number) => Promise<unknown>) {
  const until = performance.now() + 60_000;
  for (;;) {
    const left = await db.pool.query('select kind, count(*)::int as n from kernel.job group by kind').then(
      ({ rows }) => rows,
      () => undefined,
    );
    if (left?.length === 0) return;
    if (performance.now() > until) assert.fail(`jobs are left that nobody runs: ${JSON.stringify(left)}`);
    await advance(35);
    await sleep(2_000);
  }
}

async function judge(db: Db, made: Map<string, string>, insisted: Set<string>, done: Map<number, number[]>) {
  const ask = async (text: string) => (await db.pool.query(text)).rows as Record<string, never>[];
  const counted = async (what: string) =>
    new Map(
      (await ask(`select key, count(*)::int as n from public.deed where what = '${what}' group by key`)).map((r) => [r['key'], r['n']]),
    );
  const runs = await counted('began');
  const effects = await counted('effect');
  const gone = await ask('select id, kind, key, attempts, by_name from public.gone');
  const cancelled = new Set(gone.filter((g) => g['by_name'] === 'canceller').map((g) => g['key']));

  for (const [key, is] of made) {
    if (/^parent/.test(key) && is === 'certain') made.set(childOf(key), 'certain');
    if (is === 'certain' && !cancelled.has(key as never)) assert.ok(runs.has(key as never), `${key} was accepted and never ran`);
    if (!/^(exact|slow|parent|born)/.test(key) || is !== 'certain') continue;
    assert.equal(
      effects.get(key as never) ?? 0,
      cancelled.has(key as never) ? 0 : 1,
      `${key} had its effect ${effects.get(key as never)} times`,
    );
  }

  // A job's end carries the lease of its last claim; only the process that made this claim may say that it finished the job.
  const last = new Map(
    (await ask('select distinct on (id) id, attempts, lease from public.claimed order by id, n desc')).map((c) => [c['id'], c]),
  );
  const stale =
    await ask(`select g.id from public.gone g join (select distinct on (id) id, lease from public.claimed order by id, n desc) c using (id)
                            where g.lease is distinct from c.lease and g.by_name <> 'canceller'`);
  assert.deepEqual(stale, [], 'jobs were finished under a lease that was not the last');
  for (const { id, kind, attempts, by_name } of gone) {
    if (kind === 'again' || by_name === 'canceller') continue; // put back and finished several times
    const claims = done.get(Number(id)) ?? [];
    assert.ok(claims.length <= 1, `job ${id} was finished ${claims.length} times`);
    if (claims.length === 1) assert.equal(claims[0], attempts, `job ${id} was finished by a holder that had lost it`);
    assert.ok(last.has(id), `job ${id} ended without having been claimed`);
  }

  for (const key of insisted) {
    const [since] = await ask(
      `select max(n) filter (where what = 'insisted') < max(n) filter (where what = 'began') as ran from public.deed where key = '${key}'`,
    );
    assert.equal(since!['ran'], true, `${key} was rescheduled and did not run after that`);
  }
}
