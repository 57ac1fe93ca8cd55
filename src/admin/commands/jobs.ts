import type { Command } from 'commander';
import { atDatabase } from './lazily.ts';
import { jsonOption, organizationOption, whole } from './options.ts';

const id = whole(1, Number.MAX_SAFE_INTEGER);

export function jobCommands(admin: Command) {
  const work = () => import('../jobs.ts');
  const group = admin.command('jobs').description('background work: what waits too long and what was given up');

  group
    .command('list')
    .description('dead jobs, newest first; with --due what has waited longest in each lane')
    .option('--due', 'those that are due')
    .option('--kind <kind>', 'dead ones of this kind only')
    .option('--limit <count>', 'at most so many dead ones', whole(1, 10_000), 100)
    .addOption(jsonOption())
    .action(atDatabase(async () => (await work()).listJobs));

  group
    .command('retry')
    .description('put a dead job back to waiting, with all its attempts again')
    .argument('[id]', 'which one', id)
    .option('--all', 'every dead one; of several with one key the newest')
    .option('--kind <kind>', 'with --all: of this kind only')
    .action(atDatabase(async () => (await work()).retryJobs));

  group
    .command('drop')
    .description('delete a job for good; one that is running goes on but cannot finish')
    .argument('<id>', 'which one', id)
    .action(atDatabase(async () => (await work()).dropJob));

  admin
    .command('tasks')
    .description('recurring work')
    .command('list')
    .description('when each ran last, and how it went')
    .addOption(jsonOption())
    .action(atDatabase(async () => (await work()).listTasks));
}

export function auditCommand(admin: Command) {
  admin
    .command('audit')
    .description('who did what in an organization, newest first')
    .option('--installation', 'what the operator did that concerns no organization: backups, keys, jobs')
    .option('--limit <count>', 'at most so many', whole(1, 1_000), 50)
    .addOption(organizationOption())
    .addOption(jsonOption())
    .action(atDatabase(async () => (await import('../audit-log.ts')).printAudit));
}
