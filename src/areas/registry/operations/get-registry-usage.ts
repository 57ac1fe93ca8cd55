import { registry } from '../../../../contract/registry.ts';
import { ok, operation } from '../../../identity/operation.ts';
import { now } from '../../../kernel/time.ts';
import { findRegistry } from '../engine/find-registry.ts';
import { usageByDay } from '../store/quota.ts';
import { usageView } from '../views/usage.ts';

const defaultDays = 90;

export const getRegistryUsage = operation(registry.getRegistryUsage, async ({ ctx, params, query }) =>
  ctx.read(async (tx) => {
    const found = await findRegistry(tx, ctx, params.slug);
    return ok(usageView(found, await usageByDay(tx, found.id, query.days ?? defaultDays), await now(tx)));
  }),
);
