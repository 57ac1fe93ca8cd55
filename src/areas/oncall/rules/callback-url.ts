/** The provider's callback address for reports (`status`) and pressed keys (`gather`). */
export const callbackUrl = (publicUrl: string, page: { org: string; id: string }, what: 'status' | 'gather'): string =>
  `${publicUrl}/api/v1/oncall/twilio/${page.org}/${page.id}/${what}`;
