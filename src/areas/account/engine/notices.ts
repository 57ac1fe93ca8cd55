import { randomUUID } from 'node:crypto';
import { browserUrl } from '../../../identity/rules/browser-url.ts';
import { isMailable } from '../../../identity/rules/mailable.ts';
import { orgsOfUser } from '../../../identity/store/members.ts';
import type { App } from '../../../kernel/app.ts';
import type { Tx } from '../../../kernel/db/index.ts';
import { GiveUp } from '../../../kernel/jobs/declare.ts';
import { enqueue } from '../../../kernel/jobs/index.ts';
import { type Message, NotDelivered } from '../../../kernel/mail.ts';
import { sendMail } from '../../../kernel/send-mail.ts';
import { takeMailAllowance } from '../store/mail-allowances.ts';
import type { Person } from './person.ts';

/** What a person hears of their account in an hour; the audit log has the rest. */
const noticesPerHour = 20;

/**
 * Mails a person what happened to their account, where mail leaves. The mail goes out after the commit, on behalf of the first organization
 * of the person. The text never holds a secret: it waits in the queue.
 */
export async function tellPerson(
  tx: Tx,
  app: Pick<App, 'mail' | 'publicUrl'>,
  person: Person,
  notice: { subject: string; text: string },
): Promise<void> {
  if (!app.mail.leaves() || !isMailable(person.email)) return;
  const [org] = await orgsOfUser(tx, person.id);
  if (org === undefined || !(await takeMailAllowance(tx, `to ${person.id}`, noticesPerHour))) return;
  await enqueue(tx, sendMail, {
    key: `account:${randomUUID()}`,
    org,
    payload: { to: person.email, subject: notice.subject, text: noticeText(browserUrl(app.publicUrl()), notice.text) },
  });
}

/** Sends a mail with a link. The job makes the link, so that no secret waits in the queue. */
export const deliverLink = ({ mail }: Pick<App, 'mail'>, message: Message) =>
  mail.deliver(message).catch((error) => {
    throw error instanceof NotDelivered && error.retryAdvice === 'for good' ? new GiveUp(error.message, { cause: error }) : error;
  });

const noticeText = (url: string, text: string) =>
  `${text}\n\nIf that was you, there is nothing to do. If it was not, sign in and look at your account:\n${url}/account\n`;
