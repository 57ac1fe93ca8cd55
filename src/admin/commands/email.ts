import type { Command } from 'commander';
import { atDatabase } from './lazily.ts';
import { jsonOption, name, organizationOption, whole } from './options.ts';

const work = () => import('../email.ts');
const quota = (text: string) => (text === 'default' ? null : whole(0, 1e9)(text));

export function emailCommands(admin: Command) {
  const group = admin.command('email').description('what organizations may send, and what is on its way');

  group
    .command('quota')
    .description('how many recipients a day an organization may send to; “default” for what everybody has')
    .argument('<recipients>', 'a number, or “default”', quota)
    .addOption(organizationOption())
    .action(atDatabase(async () => (await work()).setQuota));

  group
    .command('pause')
    .description('accept nothing more from an organization; what is queued waits, and nothing is lost')
    .requiredOption('--reason <text>', 'what its members are told', name)
    .addOption(organizationOption())
    .action(atDatabase(async () => (await work()).pause));

  group
    .command('resume')
    .description('let an organization send again; what waited goes on')
    .addOption(organizationOption())
    .action(atDatabase(async () => (await work()).resume));

  group
    .command('queue')
    .description('what is on its way, by organization and state, and what stands in its way')
    .addOption(jsonOption())
    .action(atDatabase(async () => (await work()).showQueue));

  group
    .command('inbound')
    .description('whose mail takes the room that an organization has for what arrives, in the last 30 days')
    .addOption(organizationOption())
    .addOption(jsonOption())
    .action(atDatabase(async () => (await work()).showInbound));

  group
    .command('free-inbound')
    .description('forget the content of what arrived from one network address, so that there is room for other mail')
    .requiredOption('--from <address>', 'as “inbound” shows it', name)
    .addOption(organizationOption())
    .action(atDatabase(async () => (await work()).freeInbound));
}
