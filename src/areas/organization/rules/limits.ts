/** Requests beyond these limits are refused. */
export const limits = {
  /** Members and open invitations of an organization. */
  members: 1_000,
};
