import type { Command } from 'commander';
import { atDatabase, lazily } from './lazily.ts';
import { jsonOption } from './options.ts';

export function clusterCommands(admin: Command) {
  const group = admin.command('clusters').description('Kubernetes’ own programs, which clusters of real versions run');

  group
    .command('list')
    .description('the versions that this machine has')
    .addOption(jsonOption())
    .action(lazily(async () => (await import('../clusters/versions.ts')).listVersions));

  group
    .command('install')
    .description('fetch a version’s programs and kine from their releases, with their checksums; servers see it while they run')
    .argument('<version>', 'such as v1.36.4')
    .option('--from <directory>', 'copy them from a directory instead: kine, and <version>/kube-apiserver and the others')
    .option('--build', 'build them with Go instead, from the sources that its module proxy serves')
    .action(lazily(async () => (await import('../clusters/install.ts')).installVersion));

  group
    .command('remove')
    .description('remove a version that no cluster has')
    .argument('<version>', 'such as v1.35.8')
    .action(atDatabase(async () => (await import('../clusters/versions.ts')).removeVersion));
}
