import type { Message } from '../../../../kernel/mail.ts';
import { oneLine } from './one-line.ts';

export interface ConfirmationFacts {
  address: string;
  pageTitle: string;
  /** Of the page, without a trailing slash. */
  url: string;
  token: string;
}

/** The first mail: nothing more comes unless its link is followed. */
export const confirmationMail = ({ address, pageTitle, url, token }: ConfirmationFacts): Omit<Message, 'id' | 'org'> => ({
  to: address,
  subject: oneLine(`Confirm: updates of ${pageTitle}`),
  text: `Somebody, probably you, asked for the updates of ${oneLine(pageTitle)} to be sent to this address.

To get them, open this link within 24 hours and press the button:
${url}/confirm/${token}

If it was not you, do nothing: no further mail will come.
`,
  headers: { 'Auto-Submitted': 'auto-generated' },
});
