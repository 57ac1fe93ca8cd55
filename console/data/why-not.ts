import type { Api, Guard } from '../../sdk/browser.ts';

export type Rights = Awaited<ReturnType<Api['organization']['getMyRights']>>;

/** The reason that a page gives beforehand. Pure: a committed table holds it for every screen and role. */
export function whyNot(rights: Rights | undefined, guard: Guard | undefined, resource?: string): string | undefined {
  if (!guard) return undefined;
  if (guard.foreign) return 'This takes a key of its own, not a session. The command below shows how.';
  if (!rights) return undefined;
  if (guard.entitlement && !rights.entitlements.includes(guard.entitlement))
    return `This organization is not enabled for ${guard.entitlement}. The operator changes that.`;
  if (guard.permission === 'member' || guard.permission === 'none') return undefined;
  const held = rights.permissions[guard.permission];
  if (held === '*') return undefined;
  if (held?.length && guard.scoped && (resource === undefined || held.includes(resource))) return undefined;
  // A role on some things is no right to what belongs to none of them.
  const where = !held?.length ? '' : guard.scoped ? ' for this one' : ' on the whole organization';
  return `This needs the permission ${guard.permission}${where}. An owner or admin grants it.`;
}
