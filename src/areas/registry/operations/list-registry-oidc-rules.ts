import { registry } from '../../../../contract/registry.ts';
import { ok, operation } from '../../../identity/operation.ts';
import { findRegistry } from '../engine/find-registry.ts';
import { rulesOf } from '../store/rules.ts';
import { ruleView } from '../views/oidc-rule.ts';

export const listRegistryOidcRules = operation(registry.listRegistryOidcRules, async ({ ctx, params }) =>
  ctx.read(async (tx) => {
    const found = await findRegistry(tx, ctx, params.slug);
    return ok({ rules: (await rulesOf(tx, ctx.org, found.id)).map(ruleView) });
  }),
);
