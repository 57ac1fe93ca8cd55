import { registry } from '../../../../contract/registry.ts';
import { audit } from '../../../identity/audit.ts';
import { created, operation } from '../../../identity/operation.ts';
import { conflict, invalid, paymentRequired } from '../../../kernel/errors.ts';
import * as registries from '../engine/registries.ts';
import type { OpenRegistry } from '../open.ts';
import { isReserved } from '../rules/slugs.ts';
import { registryView } from '../views/registry.ts';

export const createRegistry = operation(registry.createRegistry, async ({ ctx, body }, { payment }: OpenRegistry) => {
  const { slug, displayName = body.slug, region = ctx.app.config.region } = body;
  if (region !== ctx.app.config.region) invalid(`region ${region} does not exist here; the only one is ${ctx.app.config.region}`);
  if (isReserved(slug)) conflict(`the slug ${slug} is reserved; choose another one`);

  // Before the transaction: a slow payment provider must not hold locks that a revocation waits for.
  if (!(await payment.active(ctx, ctx.principal.org))) paymentRequired('the organization has no active payment method; add one first');

  return ctx.write(async (tx) => {
    const quotaBytes = ctx.app.config.registry_quota_bytes;
    const made = await registries.createRegistry(tx, ctx.org, { slug, displayName, region, quotaBytes });
    await audit(tx, ctx, 'registry.registry.create', made, { slug });
    return created(registryView(made), `/registry/registries/${slug}`);
  });
});
