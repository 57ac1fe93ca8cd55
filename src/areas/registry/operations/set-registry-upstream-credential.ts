import { registry } from '../../../../contract/registry.ts';
import { audit } from '../../../identity/audit.ts';
import { ok, operation } from '../../../identity/operation.ts';
import { notFound } from '../../../kernel/errors.ts';
import { findRegistry, shareRegistry } from '../engine/find-registry.ts';
import { setUpstreamLogin, verifyLogin } from '../engine/upstream-credentials.ts';
import type { OpenRegistry } from '../open.ts';
import { upstreamAt } from '../rules/upstreams.ts';

export const setRegistryUpstreamCredential = operation(
  registry.setRegistryUpstreamCredential,
  async ({ ctx, params, body }, { upstreams }: OpenRegistry) => {
    const { app } = ctx;
    await ctx.read((tx) => findRegistry(tx, ctx, params.slug));
    const upstream =
      upstreamAt(app.config.registry_upstreams, params.host) ?? notFound('upstream; GET /api/v1/registry/upstreams lists them');
    await verifyLogin(upstreams.client, upstream, body);

    return ctx.write(async (tx) => {
      const found = await shareRegistry(tx, ctx, params.slug);
      await setUpstreamLogin(tx, app, ctx.org, found.id, upstream.host, body);
      await audit(tx, ctx, 'registry.upstream.set', found, { slug: found.slug, upstream: upstream.host, username: body.username });
      return ok({ upstream: upstream.host, username: body.username });
    });
  },
);
