import type { Message } from '../../../../kernel/mail.ts';
import { plainName } from '../../rules/confirmation-mail.ts';

export interface ConfirmationFacts {
  address: string;
  pageTitle: string;
  /** Of the page, without a trailing slash. */
  url: string;
  token: string;
}

/**
 * The confirmation mail. No further mail follows unless the reader confirms. Its only link and its subject are ours, not the
 * organization's.
 */
export const confirmationMail = ({ address, pageTitle, url, token }: ConfirmationFacts): Omit<Message, 'id' | 'org'> => ({
  to: address,
  subject: 'Confirm that you want updates of a status page',
  text: `Somebody, probably you, asked for the updates of a status page to be sent to this address.
The page is called: “${plainName(pageTitle)}”

To get them, open this link within 24 hours and press the button:
${url}/confirm/${token}

If it was not you, do nothing: no further mail will come.
`,
  headers: { 'Auto-Submitted': 'auto-generated' },
});
