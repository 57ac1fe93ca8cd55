import { registry } from '../../../../contract/registry.ts';
import { audit } from '../../../identity/audit.ts';
import { noContent, operation } from '../../../identity/operation.ts';
import { findRegistry } from '../engine/find-registry.ts';
import { deleteUpstreamLogin } from '../engine/upstream-credentials.ts';

export const deleteRegistryUpstreamCredential = operation(registry.deleteRegistryUpstreamCredential, async ({ ctx, params }) =>
  ctx.write(async (tx) => {
    const found = await findRegistry(tx, ctx, params.slug);
    await deleteUpstreamLogin(tx, ctx.app, ctx.org, found.id, params.host);
    await audit(tx, ctx, 'registry.upstream.delete', found, { slug: found.slug, upstream: params.host });
    return noContent();
  }),
);
