/** Where the provider tells us how a page went, or which key was pressed. */
export const callbackUrl = (publicUrl: string, page: { org: string; id: string }, what: 'status' | 'gather'): string =>
  `${publicUrl}/api/v1/oncall/twilio/${page.org}/${page.id}/${what}`;
