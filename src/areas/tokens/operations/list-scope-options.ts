import { builtinRoles } from '../../../../contract/permissions.ts';
import { tokens } from '../../../../contract/tokens.ts';
import { visibleResources } from '../../../identity/engine/scopes.ts';
import { ok, operation } from '../../../identity/operation.ts';
import { atomsOf, isScopable, permissionsOf } from '../../../identity/rules/grants.ts';
import { customRoles } from '../../../identity/store/roles.ts';
import type { OpenTokens } from '../open.ts';

/** A role can be named when the caller holds each of its permissions, at least on some resource. */
export const listScopeOptions = operation(tokens.listScopeOptions, async ({ ctx }, { resources }: OpenTokens) =>
  ctx.read(async (tx) => {
    const custom = await customRoles(tx, ctx.org);
    const atoms = atomsOf(custom);
    const nameable = (id: string) => permissionsOf(id, atoms).every((p) => ctx.reach(p) !== undefined);
    const roles = [...builtinRoles, ...custom.map((r) => ({ ...r, scopable: isScopable(r.permissions), service: undefined }))].filter((r) =>
      nameable(r.id),
    );
    return ok({
      roles: roles.map(({ id, name, description, scopable, service }) => ({
        id,
        name,
        description,
        scopable,
        ...(service ? { service } : {}),
      })),
      resources: await visibleResources(tx, resources, ctx.org, ctx.principal.grants),
    });
  }),
);
