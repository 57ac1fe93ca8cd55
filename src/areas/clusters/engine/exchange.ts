import type { App } from '../../../kernel/app.ts';
import type { Tx } from '../../../kernel/db/index.ts';
import { Refusal } from '../../../kernel/errors.ts';
import { putJoinToken } from '../clients/tenant/prepare.ts';
import { tokenText } from '../rules/bootstrap-token.ts';
import { kubeadmJoin } from '../rules/join-text.ts';
import { lifetimes } from '../rules/lifetimes.ts';
import { meshBits } from '../rules/mesh/network.ts';
import type { JoiningMachine } from '../rules/mesh/request.ts';
import { type ClusterRow, clusterById } from '../store/clusters.ts';
import { pkiOf } from '../store/pki.ts';
import { useRegistration } from '../store/tokens.ts';
import { clusterAddressOf, meshEndpointOf } from './cluster-address.ts';
import { type JoinToken, type JoinTokenOptions, recordJoinToken } from './join.ts';
import { type Admitted, admitMachine } from './mesh/admit.ts';
import { caHashOf } from './pki.ts';
import type { TenantClusters } from './types.ts';

interface RecordedToken extends JoinToken {
  caHash: string;
}

/**
 * Issues a join token for one node. `commit` is the transaction that records it; then the token is created in the cluster. After a crash in
 * between, the recorded token exists in no cluster, admits no node and expires.
 */
export async function issueJoinToken(
  tenants: TenantClusters,
  cluster: ClusterRow,
  commit: (record: (tx: Tx, options?: JoinTokenOptions) => Promise<RecordedToken>) => Promise<RecordedToken>,
) {
  return tenants.with(cluster, async (ask) => {
    const recorded = await commit(async (tx, options) => {
      const made = await recordJoinToken(tx, cluster, options);
      return { ...made, caHash: caHashOf((await pkiOf(tx, cluster.id))!.ca_certificate) };
    });
    await putJoinToken(ask, recorded.token, recorded.expiresAt);
    const joinToken = tokenText(recorded.token);
    return {
      joinToken,
      cluster: cluster.name,
      caHash: recorded.caHash,
      joinCommand: kubeadmJoin({ endpoint: cluster.endpoint!, token: joinToken, caHash: recorded.caHash }),
      expiresIn: lifetimes.joinToken,
    };
  });
}

const invalidRegistration = () =>
  new Refusal(401, 'unauthenticated', 'unauthenticated: the registration token is unknown, disabled, expired or revoked');

/** A new join token for one node. The registration token is checked in the database, not in a cache, so a disabled one admits no more nodes. */
export async function exchangeRegistration(
  app: App,
  tenants: TenantClusters,
  { clusterId, registration, machine }: { clusterId: string; registration: string; machine: JoiningMachine | undefined },
  writeAudit: (tx: Tx, tokenId: string) => Promise<unknown>,
) {
  const cluster = await app.db.read((tx) => clusterById(tx, clusterId));
  if (!cluster) throw invalidRegistration();
  let admitted: Admitted | undefined;
  const made = await issueJoinToken(tenants, cluster, (record) =>
    app.db.write(async (tx) => {
      if (!(await useRegistration(tx, registration))) throw invalidRegistration();
      admitted = machine && (await admitMachine(tx, cluster, machine));
      const recorded = await record(tx, { registration, node: machine?.node });
      await writeAudit(tx, recorded.token.id);
      return recorded;
    }),
  );
  const { joinToken, expiresIn, caHash } = made;
  const mesh = admitted && describeMesh(app, cluster, admitted);
  return {
    cluster: cluster.name,
    endpoint: new URL(cluster.endpoint!).host,
    joinToken,
    caCertHash: caHash,
    expiresIn,
    ...(mesh && { mesh }),
  };
}

/** The control plane is the first peer; those of other nodes are told to the node's certificate. */
function describeMesh(app: App, cluster: ClusterRow, { network, hub, address }: Admitted) {
  const endpoint = meshEndpointOf(clusterAddressOf(app, cluster), hub.port);
  return { address: `${address}/${meshBits}`, peers: [{ publicKey: hub.publicKey, endpoint, allowedIps: [network] }] };
}
