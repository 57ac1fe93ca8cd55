import type { Command } from 'commander';
import { audit, operator } from '../identity/audit.ts';
import type { Tx } from '../kernel/db.ts';
import { exitCodes, notFound, Stop } from '../kernel/errors.ts';
import { jobAdmin } from '../kernel/jobs/index.ts';
import { jsonOption, whole } from './options.ts';
import { installation } from './organization.ts';
import { printRows, type Shown } from './output.ts';
import { atDatabase } from './session.ts';
import { jobOrg } from './store.ts';

const id = whole(1, Number.MAX_SAFE_INTEGER);

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

export function jobCommands(admin: Command) {
  const group = admin.command('jobs').description('background work: what waits too long and what was given up');

  group
    .command('list')
    .description('dead jobs, newest first; with --due what has waited longest in each lane')
    .option('--due', 'those that are due')
    .option('--kind <kind>', 'dead ones of this kind only')
    .option('--limit <count>', 'at most so many dead ones', whole(1, 10_000), 100)
    .addOption(jsonOption())
    .action(
      atDatabase(async ({ db }, o: Shown & { due?: true; kind?: string; limit: number }) => {
        const jobs = await db.read((tx) => (o.due ? jobAdmin.oldestDue(tx) : jobAdmin.deadJobs(tx, o)));
        printRows(o, jobs.map(view), o.due ? 'nothing is due' : 'no job was given up');
      }),
    );

  group
    .command('retry')
    .description('put a dead job back to waiting, with all its attempts again')
    .argument('[id]', 'which one', id)
    .option('--all', 'every dead one; of several with one key the newest')
    .option('--kind <kind>', 'with --all: of this kind only')
    .action(
      atDatabase(async ({ db }, one: number | undefined, o: { all?: true; kind?: string }) => {
        if ((one === undefined) === !o.all) throw new Stop(exitCodes.usage, 'say which job with its id, or --all');
        const count = await db.write((tx) => (one === undefined ? retryAll(tx, o) : retryOne(tx, one)));
        console.log(`${count} ${count === 1 ? 'job waits' : 'jobs wait'} for a worker again`);
      }),
    );

  group
    .command('drop')
    .description('delete a job for good; one that is running goes on but cannot finish')
    .argument('<id>', 'which one', id)
    .action(
      atDatabase(async ({ db }, one: number) => {
        await db.write(async (tx) => {
          const job = (await jobOrg(tx, one)) ?? notFound('job');
          await jobAdmin.dropJob(tx, one);
          await audit(tx, operator(job.org_id ?? installation), 'jobs.job.drop', { id: String(one) }, { kind: job.kind });
        });
        console.log(`job ${one} is gone`);
      }),
    );

  admin
    .command('tasks')
    .description('recurring work')
    .command('list')
    .description('when each ran last, and how it went')
    .addOption(jsonOption())
    .action(
      atDatabase(async ({ db }, o: Shown) => {
        const tasks = await db.read(jobAdmin.listTasks);
        const shown = tasks.map((t) => ({
          name: t.name,
          state: t.running ? `running since ${t.started_at}` : `next ${t.next_at}`,
          'last ok': t.last_ok,
          failures: t.failures,
          error: t.last_error,
        }));
        printRows(o, shown, 'no worker has run here yet');
      }),
    );
}

async function retryOne(tx: Tx, one: number): Promise<number> {
  const job = (await jobOrg(tx, one)) ?? notFound('dead job');
  await jobAdmin.retryDead(tx, one);
  await audit(tx, operator(job.org_id ?? installation), 'jobs.job.retry', { id: String(one) }, { kind: job.kind });
  return 1;
}

async function retryAll(tx: Tx, { kind }: { kind?: string }): Promise<number> {
  const count = await jobAdmin.retryAllDead(tx, kind === undefined ? {} : { kind });
  await audit(tx, operator(installation), 'jobs.retry', { id: kind ?? 'all' }, { count });
  return count;
}
