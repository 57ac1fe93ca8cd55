import { registry } from '../../../../contract/registry.ts';
import { audit } from '../../../identity/audit.ts';
import { lockLineage } from '../../../identity/engine/lineage.ts';
import { created, operation } from '../../../identity/operation.ts';
import { forbidden } from '../../../kernel/errors.ts';
import { createLogin } from '../engine/credentials/keys.ts';
import { shareRegistry } from '../engine/find-registry.ts';
import { shareRegistries } from '../store/registries.ts';
import { dataPlaneHost } from '../views/registry.ts';

export const createRegistryLogin = operation(registry.createRegistryLogin, async ({ ctx, body }) =>
  ctx.write(async (tx) => {
    const { endsAt } = await lockLineage(tx, ctx.org, ctx.principal);
    const reached =
      body.registry === undefined ? await shareRegistries(tx, ctx.org, ctx.visible) : [await shareRegistry(tx, ctx, body.registry)];
    if (!reached.length) forbidden('you reach no registry; create one, or ask an owner or admin of the organization for access to one');

    const writable = body.pullOnly ? undefined : ctx.reach('registry.image.write');
    const scope = reached.map(({ id, slug }) => ({
      registryId: id,
      slug,
      mode: writable === '*' || writable?.has(id) ? ('readwrite' as const) : ('pull' as const),
    }));
    const wanted = { userId: ctx.user.id, mintedBy: ctx.principal.id, notAfter: endsAt, scope };
    const { login, password } = await createLogin(tx, ctx.org, wanted);
    const shown = scope.map(({ slug, mode }) => ({ registry: slug, mode }));
    await audit(tx, ctx, 'registry.login.create', { id: login.key_id }, { scope: shown });
    return created(
      { username: login.key_id, password, expiresAt: login.expires_at, registry: dataPlaneHost(ctx.app), scope: shown },
      `/registry/login-credentials/${login.key_id}`,
    );
  }),
);
