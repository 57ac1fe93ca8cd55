import { registry } from '../../../../contract/registry.ts';
import { audit } from '../../../identity/audit.ts';
import { ok, operation } from '../../../identity/operation.ts';
import { notFound, rejected, unreachable } from '../../../kernel/errors.ts';
import { findRegistry, holdRegistry } from '../engine/find-registry.ts';
import { upstreamAt } from '../rules/upstreams.ts';
import { makeUpstreamClient, sealedPlace, UpstreamAway, upstreamTopic } from '../clients/upstream/client.ts';
import { setCredential } from '../store/upstreams.ts';

export const setRegistryUpstreamCredential = operation(registry.setRegistryUpstreamCredential, async ({ ctx, params, body }) => {
  const { app } = ctx;
  await ctx.read((tx) => findRegistry(tx, ctx, params.slug));
  const upstream = upstreamAt(app, params.host) ?? notFound('upstream; GET /api/v1/registry/upstreams lists them');
  // Outside of any transaction: an upstream may take its time, and a row lock must not.
  const takes = await makeUpstreamClient(app)
    .takes(upstream, body)
    .catch((error) =>
      error instanceof UpstreamAway
        ? unreachable(`${error.message}; nothing was stored, try again later`, { cause: error })
        : Promise.reject(error),
    );
  if (!takes) rejected(`${upstream.host} rejects this login; nothing was stored, check the user name and password there`);

  return ctx.write(async (tx) => {
    const found = await holdRegistry(tx, ctx, params.slug);
    const sealed = app.secrets.seal(body.password, sealedPlace(found.id, upstream.host));
    await setCredential(tx, ctx.org, { registryId: found.id, host: upstream.host, username: body.username, sealed });
    await audit(tx, ctx, 'registry.upstream.set', found, { slug: found.slug, upstream: upstream.host, username: body.username });
    await app.caches.drop(tx, upstreamTopic(found.id, upstream.host));
    return ok({ upstream: upstream.host, username: body.username });
  });
});
