import { addPool, balancerProblems, listAddressPools, removePool } from '../../areas/clusters/index.ts';
import { audit, operator } from '../../identity/audit.ts';
import { installation } from '../organization.ts';
import { type OutputOptions, printJson, printTable } from '../output.ts';
import type { Session } from '../session.ts';

const none = 'the pool has no addresses, so services of type LoadBalancer wait; quarterdeck admin clusters addresses add <cidr> adds some';

export async function listAddresses({ db }: Session, options: OutputOptions): Promise<void> {
  const [networks, problems] = await db.read((tx) => Promise.all([listAddressPools(tx), balancerProblems(tx)]));
  if (options.json) return printJson({ networks, problems });
  printTable(
    networks.map(({ network, addresses, taken, added_at }) => ({ network, addresses, taken, added: added_at })),
    none,
  );
  for (const { cluster, service, problem } of problems) console.log(`${service} of ${cluster} accepts no connections: ${problem}`);
}

export async function addAddresses({ db }: Session, network: string, { loopback = false }: { loopback?: boolean }): Promise<void> {
  await db.write(async (tx) => {
    await addPool(tx, network, { isLoopbackAllowed: loopback });
    await audit(tx, operator(installation), 'clusters.addresses.add', { id: network }, { loopback });
  });
  console.log(`${network} is in the pool; on each server with the role shard \`ip route add local ${network} dev lo\` makes it bindable`);
}

export async function removeAddresses({ db }: Session, network: string): Promise<void> {
  await db.write(async (tx) => {
    await removePool(tx, network);
    await audit(tx, operator(installation), 'clusters.addresses.remove', { id: network });
  });
  console.log(`${network} is no longer in the pool`);
}
