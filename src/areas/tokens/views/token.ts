import type { Static } from 'typebox';
import type { PersonalToken } from '../../../../contract/tokens.ts';
import { builtinRole } from '../../../identity/rules/grants.ts';
import type { ListedToken } from '../store/tokens.ts';

/** A role that was deleted keeps its id in the scope, and is shown by it. */
export const tokenView = (
  t: Omit<ListedToken, 'is_beyond'>,
  orgSlug: string,
  custom: { id: string; name: string }[],
): Static<typeof PersonalToken> => ({
  id: t.id,
  name: t.name,
  start: t.start,
  enabled: t.enabled,
  createdAt: t.created_at,
  expiresAt: t.expires_at,
  lastRequest: t.last_request,
  orgSlug,
  ...(t.minters.length ? { mintedBy: t.minters.at(-1)! } : {}),
  scope: t.scope.map(({ role, resourceIds }) => ({
    role,
    roleName: builtinRole(role)?.name ?? custom.find((r) => r.id === role)?.name ?? role,
    resourceIds,
  })),
});
