/** How much of its kind an organization, or a member of it, may have: whatever is beyond is refused, and costs no other organization. */
export const limits = {
  /** Members and open invitations of an organization. */
  members: 1_000,
  /** Custom roles of an organization: all of them are read with every principal. */
  roles: 100,
  /** Grants of a member: likewise. */
  grants: 100,
  /** Tokens of a member that are not over. */
  tokens: 1_000,
  /** Tokens of a member that are over and still listed; the oldest give way. */
  expiredTokens: 1_000,
  /** Resources that a new scope names, over all of its entries; those that were made with more go on working. */
  scopeIds: 1_000,
};
