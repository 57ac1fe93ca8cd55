/** Requests beyond these limits are refused. */
export const limits = {
  /** Live tokens of a member. */
  tokens: 1_000,
  /** Expired tokens of a member that are still listed; the oldest are deleted first. */
  expiredTokens: 1_000,
};
