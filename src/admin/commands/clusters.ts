import type { Command } from 'commander';
import { atDatabase, lazily } from './lazily.ts';
import { jsonOption } from './options.ts';

const clusterArgument = 'its name, or its id where several have the name';

function addressCommands(clusters: Command) {
  const group = clusters
    .command('addresses')
    .description('addresses for load-balanced services; route them to the servers with the role shard');

  group
    .command('list')
    .description('the networks of the pool, and which addresses do not accept connections')
    .addOption(jsonOption())
    .action(atDatabase(async () => (await import('../clusters/addresses.ts')).listAddresses));

  group
    .command('add')
    .description('add a network that is routed to the shard servers; `ip route add local <cidr> dev lo` makes it bindable there')
    .argument('<cidr>', 'such as 198.51.100.0/28')
    .option('--loopback', 'take addresses of 127.0.0.0/8, which only this machine reaches: for a trial')
    .action(atDatabase(async () => (await import('../clusters/addresses.ts')).addAddresses));

  group
    .command('remove')
    .description('remove a network of which no service has an address')
    .argument('<cidr>', 'as it was added')
    .action(atDatabase(async () => (await import('../clusters/addresses.ts')).removeAddresses));
}

function meshCommands(clusters: Command) {
  const group = clusters.command('mesh').description('WireGuard networks among the nodes of a cluster and its control plane');

  group
    .command('list')
    .description('clusters that asked for one, and what keeps it from being there')
    .addOption(jsonOption())
    .action(atDatabase(async () => (await import('../clusters/mesh.ts')).listClusterMeshes));

  group
    .command('enable')
    .description('switch it on for a cluster that asked for one before this release had it')
    .argument('<cluster>', clusterArgument)
    .action(atDatabase(async () => (await import('../clusters/mesh.ts')).enableClusterMesh));
}

function addonCommands(clusters: Command) {
  const group = clusters.command('addons').description('kube-proxy and CoreDNS, which new clusters of real versions have from the start');

  group
    .command('list')
    .description('clusters of real versions, the version of their addons, and what keeps them from it')
    .addOption(jsonOption())
    .action(atDatabase(async () => (await import('../clusters/addons.ts')).listClusterAddons));

  group
    .command('enable')
    .description('add them to a cluster of an earlier release; what it has by these names stays as it is')
    .argument('<cluster>', 'its name, or its id where several have the name')
    .action(atDatabase(async () => (await import('../clusters/addons.ts')).enableClusterAddons));
}

function backupCommands(clusters: Command) {
  const group = clusters
    .command('backups')
    .description('copies of the objects of clusters, in the storage; one is made every 6 h, and 7 of each cluster stay');

  group
    .command('list')
    .description('the backups of a cluster, and whether they could be restored')
    .argument('<cluster>', clusterArgument)
    .addOption(jsonOption())
    .action(atDatabase(async () => (await import('../clusters/backups.ts')).listBackups));

  group
    .command('take')
    .description('make one now; the server that serves the cluster does it')
    .argument('<cluster>', clusterArgument)
    .addOption(jsonOption())
    .action(atDatabase(async () => (await import('../clusters/backups.ts')).takeClusterBackup));

  clusters
    .command('restore')
    .description('give a cluster the objects of a backup; it serves those that it has until the others answer, and clients list again')
    .argument('<cluster>', clusterArgument)
    .option('--at <backup>', 'which one, as `backups list` shows it; otherwise the newest')
    .option('--yes', 'without asking')
    .addOption(jsonOption())
    .action(atDatabase(async () => (await import('../clusters/backups.ts')).restoreCluster));

  clusters
    .command('datastore')
    .description('what keeps the objects of a cluster')
    .command('move')
    .description('move a cluster that asked for a dedicated datastore before this release had it to an etcd of its own')
    .argument('<cluster>', clusterArgument)
    .option('--yes', 'without asking')
    .action(atDatabase(async () => (await import('../clusters/backups.ts')).moveDatastore));
}

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

  group
    .command('hand-over')
    .description('have another server with the role shard take a cluster over, without a failed request; waits until it has')
    .argument('<cluster>', 'its name, or its id where several have the name')
    .option('--no-wait', 'only ask for it')
    .action(atDatabase(async () => (await import('../clusters/hand-over.ts')).handOverCluster));

  addressCommands(group);
  meshCommands(group);
  addonCommands(group);
  backupCommands(group);
}
