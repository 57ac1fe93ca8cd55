/** Requests beyond these limits are refused. */
export const limits = {
  /** Members and open invitations of an organization. */
  members: 1_000,
};

/** Invitations that a process mails at once, and again in each hour: an inviter chooses the addresses, and their owners never asked. */
export const mailsAtOnce = { ofOrganization: 100, toAddress: 3 };
