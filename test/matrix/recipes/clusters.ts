import { clusters as area } from '../../../src/areas/clusters/index.ts';
import { clusterByName } from '../../../src/areas/clusters/store/clusters.ts';
import { insertRegistration } from '../../../src/areas/clusters/store/tokens.ts';
import { mintKey } from '../../../src/identity/token-format.ts';
import { eventually } from '../../harness/process.ts';
import { type Kitchen, type Maker, made201, type Recipes, type Thing, unique } from '../recipe.ts';

const nameOf = (what: string) => unique(what).replace(' ', '-');
const clusterBody = () => ({ name: nameOf('cluster'), tier: 'small' });

const rowOf = async ({ qd, at }: Kitchen, name: string) => (await qd.app.db.read((tx) => clusterByName(tx, at.orgId, name)))!;

/** Accepted; nobody waits until it is there. */
const cluster: Maker = async (kitchen) => {
  const { name } = await made201(kitchen.at.post('/clusters', clusterBody()));
  return { params: { name }, narrowTo: (await rowOf(kitchen, name)).id };
};

/** One that is ready, for each organization of a server: what is asked of it does not change it. */
const readyOnes = new WeakMap<object, Map<string, Promise<Thing>>>();
const ready: Maker = (kitchen) => {
  const known = readyOnes.get(kitchen.qd.app) ?? new Map<string, Promise<Thing>>();
  readyOnes.set(kitchen.qd.app, known);
  const { orgId } = kitchen.at;
  const made = known.get(orgId) ?? makeReady(kitchen);
  known.set(orgId, made);
  return made;
};

async function makeReady(kitchen: Kitchen): Promise<Thing> {
  const { name } = await made201(kitchen.at.post('/clusters', { name: nameOf('ready'), tier: 'large' }));
  await eventually(async () => (await rowOf(kitchen, name)).phase === 'ready');
  return { params: { name }, narrowTo: (await rowOf(kitchen, name)).id };
}

/** Put there by the cluster’s administrator; no machine is behind it. */
const node: Maker = async (kitchen) => {
  const { params, narrowTo } = await ready(kitchen);
  const name = nameOf('node');
  const row = await rowOf(kitchen, params.name!);
  await kitchen.qd.own(area).tenants.with(row, async (ask) => {
    const { status } = await ask('POST', '/api/v1/nodes', { apiVersion: 'v1', kind: 'Node', metadata: { name } });
    if (status !== 201) throw new Error(`a recipe could not make a node: ${status}`);
  });
  return { params: { ...params, node: name }, narrowTo: narrowTo! };
};

const tokenBody = () => ({ name: unique('token') });
/** Past the API, which lets a cluster have a hundred. */
const token: Maker = async (kitchen) => {
  const { params, narrowTo } = await ready(kitchen);
  const { id } = await kitchen.qd.app.db.write((tx) =>
    insertRegistration(tx, kitchen.at.orgId, {
      cluster: narrowTo!,
      name: tokenBody().name,
      hash: mintKey('node').hash,
      expiresIn: undefined,
    }),
  );
  return { params: { ...params, id }, narrowTo: narrowTo! };
};

export const clusters: Recipes = {
  listClusters: { lists: ready },
  createCluster: { body: clusterBody },
  getCluster: { make: ready },
  updateCluster: { make: ready, body: () => ({}) },
  deleteCluster: { make: cluster },
  getClusterUsage: { make: ready },
  getClusterHistory: { make: ready },
  listClusterNodes: { make: ready },
  deregisterClusterNode: { make: node },
  getClusterKubeconfig: { make: ready },
  createJoinToken: { make: ready },
  listRegistrationTokens: { make: ready },
  createRegistrationToken: { make: ready, body: tokenBody },
  updateRegistrationToken: { make: token, body: () => ({ disabled: true }) },
  revokeRegistrationToken: { make: token },
  listClusterVersions: {},
  listClusterUpgrades: { make: ready },
};
