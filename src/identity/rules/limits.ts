/** Limits of an organization or a member. Requests beyond them are refused, so they cost no other organization. */
export const limits = {
  /** Members and open invitations of an organization. */
  members: 1_000,
  /** Custom roles of an organization: all of them are read with every principal. */
  roles: 100,
  /** Grants of a member: likewise. */
  grants: 100,
  /** Live tokens of a member. */
  tokens: 1_000,
  /** Expired tokens of a member that are still listed; the oldest are deleted first. */
  expiredTokens: 1_000,
  /** Resources that a new scope names, over all of its entries. Older scopes with more go on working. */
  scopeIds: 1_000,
};
