import { registry } from '../../../../contract/registry.ts';
import { ok, operation } from '../../../identity/operation.ts';
import { findRegistry } from '../engine/find-registry.ts';
import { credentialsOf } from '../store/upstreams.ts';

export const listRegistryUpstreamCredentials = operation(registry.listRegistryUpstreamCredentials, async ({ ctx, params }) =>
  ctx.read(async (tx) => {
    const found = await findRegistry(tx, ctx, params.slug);
    const credentials = await credentialsOf(tx, ctx.org, found.id);
    return ok({ upstreamCredentials: credentials.map((c) => ({ upstream: c.host, username: c.username, createdAt: c.created_at })) });
  }),
);
