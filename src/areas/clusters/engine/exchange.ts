import type { App } from '../../../kernel/app.ts';
import type { Tx } from '../../../kernel/db/index.ts';
import { Refusal } from '../../../kernel/errors.ts';
import { putJoinToken } from '../clients/tenant/prepare.ts';
import { tokenText } from '../rules/bootstrap-token.ts';
import { kubeadmJoin } from '../rules/join-text.ts';
import { lifetimes } from '../rules/lifetimes.ts';
import { type ClusterRow, clusterById } from '../store/clusters.ts';
import { pkiOf } from '../store/pki.ts';
import { useRegistration } from '../store/tokens.ts';
import { type JoinToken, recordJoinToken } from './join.ts';
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
  commit: (record: (tx: Tx, registration?: string) => Promise<RecordedToken>) => Promise<RecordedToken>,
) {
  return tenants.with(cluster, async (ask) => {
    const recorded = await commit(async (tx, registration) => {
      const made = await recordJoinToken(tx, cluster, registration);
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
  { clusterId, registration }: { clusterId: string; registration: string },
  writeAudit: (tx: Tx, tokenId: string) => Promise<unknown>,
) {
  const cluster = await app.db.read((tx) => clusterById(tx, clusterId));
  if (!cluster) throw invalidRegistration();
  const made = await issueJoinToken(tenants, cluster, (record) =>
    app.db.write(async (tx) => {
      if (!(await useRegistration(tx, registration))) throw invalidRegistration();
      const recorded = await record(tx, registration);
      await writeAudit(tx, recorded.token.id);
      return recorded;
    }),
  );
  const { joinToken, expiresIn, caHash } = made;
  return { cluster: cluster.name, endpoint: new URL(cluster.endpoint!).host, joinToken, caCertHash: caHash, expiresIn };
}
