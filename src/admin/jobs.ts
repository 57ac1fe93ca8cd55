import { audit, operator } from '../identity/audit.ts';
import type { Tx } from '../kernel/db/index.ts';
import { exitCodes, notFound, Stop } from '../kernel/errors.ts';
import { jobAdmin } from '../kernel/jobs/index.ts';
import { installation } from './organization.ts';
import { type OutputOptions, printRows } from './output.ts';
import type { Session } from './session.ts';
import { jobOrg } from './store.ts';

const view = (job: jobAdmin.JobRow) => ({
  id: job.id,
  lane: job.lane,
  kind: job.kind,
  key: job.key,
  state: job.dead_at ? `dead since ${job.dead_at}` : job.running ? 'running' : `due ${job.run_at}`,
  attempts: job.attempts,
  organization: job.org_id,
  request: job.request_id,
  error: job.last_error,
});

export async function listJobs({ db }: Session, o: OutputOptions & { due?: true; kind?: string; limit: number }) {
  const jobs = await db.read((tx) => (o.due ? jobAdmin.oldestDue(tx) : jobAdmin.deadJobs(tx, o)));
  printRows(o, jobs.map(view), o.due ? 'nothing is due' : 'no job was given up');
}

export async function retryJobs({ db }: Session, id: number | undefined, o: { all?: true; kind?: string }) {
  if ((id === undefined) === !o.all) throw new Stop(exitCodes.usage, 'say which job with its id, or --all');
  const count = await db.write((tx) => (id === undefined ? retryAll(tx, o) : retryOne(tx, id)));
  console.log(`${count} ${count === 1 ? 'job waits' : 'jobs wait'} for a worker again`);
}

async function retryOne(tx: Tx, id: number): Promise<number> {
  const job = (await jobOrg(tx, id)) ?? notFound('dead job');
  await jobAdmin.retryDead(tx, id);
  await audit(tx, operator(job.org_id ?? installation), 'jobs.job.retry', { id: String(id) }, { kind: job.kind });
  return 1;
}

async function retryAll(tx: Tx, { kind }: { kind?: string }): Promise<number> {
  const count = await jobAdmin.retryAllDead(tx, kind === undefined ? {} : { kind });
  await audit(tx, operator(installation), 'jobs.retry', { id: kind ?? 'all' }, { count });
  return count;
}

export async function dropJob({ db }: Session, id: number) {
  await db.write(async (tx) => {
    const job = (await jobOrg(tx, id)) ?? notFound('job');
    await jobAdmin.dropJob(tx, id);
    await audit(tx, operator(job.org_id ?? installation), 'jobs.job.drop', { id: String(id) }, { kind: job.kind });
  });
  console.log(`job ${id} is gone`);
}

export async function listTasks({ db }: Session, o: OutputOptions) {
  const tasks = await db.read(jobAdmin.listTasks);
  const shown = tasks.map((t) => ({
    name: t.name,
    state: t.running ? `running since ${t.started_at}` : `next ${t.next_at}`,
    'last ok': t.last_ok,
    failures: t.failures,
    error: t.last_error,
  }));
  printRows(o, shown, 'no worker has run here yet');
}
