import { clusters } from '../../../../contract/clusters.ts';
import { audit } from '../../../identity/audit.ts';
import { created, operation } from '../../../identity/operation.ts';
import { lockCluster } from '../engine/find-cluster.ts';
import { mintRegistration } from '../engine/join.ts';
import { caHashOf } from '../engine/pki.ts';
import { requireEndpoint } from '../engine/shard-availability.ts';
import { cloudConfig, registeredJoin } from '../rules/join-text.ts';
import { pkiOf } from '../store/pki.ts';

export const createRegistrationToken = operation(clusters.createRegistrationToken, async ({ ctx, params, body: { name, expiresIn } }) =>
  ctx.write(async (tx) => {
    const cluster = await lockCluster(tx, ctx, params.name);
    requireEndpoint(cluster);
    const { row, token } = await mintRegistration(tx, cluster, name, expiresIn);
    await audit(tx, ctx, 'clusters.token.create', row, { cluster: cluster.name, name, ...(expiresIn ? { expiresIn } : {}) });
    const caHash = caHashOf((await pkiOf(tx, cluster.id))!.ca_certificate);
    const parts = { base: ctx.app.publicUrl(), token, caHash };
    const body = { id: row.id, name: row.name, token, cloudConfig: cloudConfig(parts), joinCommand: registeredJoin(parts) };
    return created(body, `/clusters/${cluster.name}/registration-tokens/${row.id}`);
  }),
);
