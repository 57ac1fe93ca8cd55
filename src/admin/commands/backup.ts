import { type Command, Option } from 'commander';
import { atDatabase, lazily } from './lazily.ts';
import { jsonOption } from './options.ts';

export function backupCommands(admin: Command) {
  admin
    .command('backup')
    .description('copy everything into a new directory while the server runs: rows of one moment, and the objects they name')
    .argument('<directory>', 'a directory that does not exist yet')
    .option('--with-key', 'include secret.key; otherwise keep a copy of it elsewhere: without it sealed secrets cannot be opened')
    .option('--no-blobs', 'leave out image layers and mail, when the storage has a backup of its own')
    .option('--allow-missing', 'go on when the storage does not hold an object that the database names')
    .addOption(jsonOption())
    .action(atDatabase(async () => (await import('../backup/make-backup.ts')).makeBackup));

  const restoring = admin
    .command('restore')
    .description('fill an empty database, embedded or external, from a backup of this release or an older one')
    .argument('<directory>', 'what `quarterdeck admin backup` made')
    .option('--unauthenticated', 'also a backup that has no manifest.hmac, by which secret.key shows that it was not changed')
    .addOption(jsonOption())
    .action(lazily(async () => (await import('../restore/restore-backup.ts')).restoreBackup));

  restoring
    .command('go')
    .description('after a restore: show what would be sent again, and let mail, pages and webhooks leave')
    .option('--yes', 'without asking')
    .addOption(jsonOption())
    .action(atDatabase(async () => (await import('../restore/go.ts')).restoreGo));

  admin
    .command('rotate-key')
    .description('make a new key in secret.key and seal every secret anew with it, while the server runs')
    .option('--drop-old', 'take the old keys out of the file at the end; backups made before then need a copy of them')
    .addOption(new Option('--step <step>', 'one step only, for servers on several machines').choices(['add', 'promote', 'reseal', 'drop']))
    .addHelpText(
      'after',
      '\nWith servers on several machines: add, copy secret.key to all of them, promote, copy again, reseal; later drop and copy.',
    )
    .action(atDatabase(async () => (await import('../key/change-key.ts')).changeKey));

  admin
    .command('adopt-storage')
    .description('mark the storage as this installation’s, after its objects were moved without their mark, or lost')
    .action(atDatabase(async () => (await import('../adopt-storage.ts')).adoptOwnStorage));

  admin
    .command('doctor')
    .description(
      'look at disk, clock, database, keys, ports, certificates, DNS, mail, storage and background work; exit code 1 when something fails',
    )
    .addOption(jsonOption())
    .action(lazily(async () => (await import('../doctor/print-findings.ts')).printFindings));
}
