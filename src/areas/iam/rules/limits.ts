/** Requests beyond these limits are refused. */
export const limits = {
  /** Custom roles of an organization: all of them are read with every principal. */
  roles: 100,
  /** Grants of a member: likewise. */
  grants: 100,
};
