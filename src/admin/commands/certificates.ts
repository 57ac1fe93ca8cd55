import type { Command } from 'commander';
import { atDatabase } from './lazily.ts';
import { jsonOption, name } from './options.ts';

const work = () => import('../certificates.ts');

export function certificateCommands(admin: Command) {
  const group = admin.command('certificates').description('certificates that are ordered by themselves, for QUARTERDECK_ACME');

  group
    .command('list')
    .description('every name, its certificate, and what went wrong last')
    .addOption(jsonOption())
    .action(atDatabase(async () => (await work()).listCertificates));

  group
    .command('order')
    .description('end the pause of a name after a failure, or replace the certificate that it has')
    .argument('<name>', 'which one', name)
    .action(atDatabase(async () => (await work()).orderCertificate));
}
