import { registry } from '../../../../contract/registry.ts';
import { ok, operation } from '../../../identity/operation.ts';
import { mintKey } from '../../../identity/token-format.ts';
import type { OpenRegistry } from '../open.ts';
import { dataPlaneHost } from '../views/registry.ts';

export const exchangeRegistryOidcToken = operation(registry.exchangeRegistryOidcToken, async ({ ctx, body }, { oidc }: OpenRegistry) => {
  const { key: password, hash } = mintKey('reg');
  const { key, expiresIn } = await oidc.exchange(body.subject_token, body.audience, hash, body.scope, ctx.requestId);
  return ok({
    access_token: password,
    issued_token_type: 'urn:ietf:params:oauth:token-type:access_token',
    token_type: 'Bearer',
    expires_in: expiresIn,
    keyId: key.key_id,
    username: key.key_id,
    password,
    expiresAt: key.expires_at!,
    registry: dataPlaneHost(ctx.app),
    mode: key.mode,
    repoPrefixes: key.prefixes,
  });
});
