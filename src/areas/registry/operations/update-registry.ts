import { registry } from '../../../../contract/registry.ts';
import { audit } from '../../../identity/audit.ts';
import { ok, operation } from '../../../identity/operation.ts';
import { invalid } from '../../../kernel/errors.ts';
import { lockRegistry } from '../engine/find-registry.ts';
import { changeRegistry } from '../engine/registries.ts';
import type { Retention } from '../rules/retention.ts';
import { tooManyWildcards } from '../rules/wildcards.ts';
import { repositoryCount } from '../store/registries.ts';
import { registryDetail } from '../views/registry.ts';

export const updateRegistry = operation(registry.updateRegistry, async ({ ctx, params, body }) => {
  const { rules = [] } = body.retention ?? {};
  const empty = rules.findIndex((r) => r.keepLast === undefined && r.keepDays === undefined);
  if (empty >= 0) invalid(`retention.rules.${empty} keeps nothing in particular; give it keepLast or keepDays`);
  const patterns = [...(body.immutableTags ?? []), ...rules.flatMap((r) => [r.repositories ?? '*', r.tags ?? '*'])];
  for (const pattern of patterns) {
    const wild = tooManyWildcards(pattern);
    if (wild) invalid(`${pattern}: ${wild}`);
  }

  return ctx.write(async (tx) => {
    const found = await lockRegistry(tx, ctx, params.slug);
    const repositories = await repositoryCount(tx, found.id);
    if (!Object.keys(body).length) return ok(registryDetail(found, repositories));

    const changed = await changeRegistry(tx, ctx.app.caches, ctx.org, {
      id: found.id,
      display_name: body.displayName ?? found.display_name,
      immutable_tags: body.immutableTags ?? found.immutable_tags,
      retention: (body.retention as Retention | undefined) ?? found.retention,
    });
    await audit(tx, ctx, 'registry.registry.update', found, body);
    return ok(registryDetail(changed, repositories));
  });
});
