import { registry } from '../../../../contract/registry.ts';
import { audit } from '../../../identity/audit.ts';
import { noContent, operation } from '../../../identity/operation.ts';
import { notFound } from '../../../kernel/errors.ts';
import { findRegistry } from '../engine/find-registry.ts';
import { upstreamTopic } from '../clients/upstream/client.ts';
import { deleteCredential } from '../store/upstreams.ts';

export const deleteRegistryUpstreamCredential = operation(registry.deleteRegistryUpstreamCredential, async ({ ctx, params }) =>
  ctx.write(async (tx) => {
    const found = await findRegistry(tx, ctx, params.slug);
    if (!(await deleteCredential(tx, ctx.org, found.id, params.host))) notFound('upstream credential');
    await audit(tx, ctx, 'registry.upstream.delete', found, { slug: found.slug, upstream: params.host });
    await ctx.app.caches.drop(tx, upstreamTopic(found.id, params.host));
    return noContent();
  }),
);
