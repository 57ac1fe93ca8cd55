import { registry } from '../../../../contract/registry.ts';
import { audit } from '../../../identity/audit.ts';
import { noContent, operation } from '../../../identity/operation.ts';
import { conflict } from '../../../kernel/errors.ts';
import { lockRegistry } from '../engine/find-registry.ts';
import * as store from '../store/registries.ts';
import { topics } from '../rules/topics.ts';

export const deleteRegistry = operation(registry.deleteRegistry, async ({ ctx, params }) =>
  ctx.write(async (tx) => {
    // The lock keeps out a push that would make a repository meanwhile: its row refers to this one.
    const found = await lockRegistry(tx, ctx, params.slug);
    const repositories = await store.repositoryCount(tx, found.id);
    if (repositories)
      conflict(`the registry ${found.slug} has ${repositories} ${repositories === 1 ? 'repository' : 'repositories'}; delete them first`);

    await store.deleteRegistry(tx, ctx.org, found.id);
    await audit(tx, ctx, 'registry.registry.delete', found, { slug: found.slug });
    await ctx.app.caches.drop(tx, topics.registry(found.id));
    return noContent();
  }),
);
