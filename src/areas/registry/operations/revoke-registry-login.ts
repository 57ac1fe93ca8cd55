import { registry } from '../../../../contract/registry.ts';
import { audit } from '../../../identity/audit.ts';
import { lacking } from '../../../identity/context.ts';
import { noContent, operation } from '../../../identity/operation.ts';
import { topics } from '../../../identity/principal.ts';
import { notFound } from '../../../kernel/errors.ts';
import { lockLogin, revokeLogin } from '../store/logins.ts';

export const revokeRegistryLogin = operation(registry.revokeRegistryLogin, async ({ ctx, params }) =>
  ctx.write(async (tx) => {
    const login = (await lockLogin(tx, ctx.org, params.keyId)) ?? notFound('login credential');
    if (login.user_id !== ctx.user.id && ctx.reach('registry.key.admin') === undefined)
      throw lacking('registry.key.admin', ' to end somebody else’s login');
    // A token narrowed to one registry does not end what reaches others.
    for (const id of login.registries) ctx.require(id, login.user_id === ctx.user.id ? undefined : 'registry.key.admin');

    await revokeLogin(tx, ctx.org, login.key_id);
    await audit(tx, ctx, 'registry.login.revoke', { id: login.key_id });
    await ctx.app.caches.drop(tx, topics.credential(login.key_id));
    return noContent();
  }),
);
