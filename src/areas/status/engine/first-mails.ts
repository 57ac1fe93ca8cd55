import { hash } from 'node:crypto';
import type { Tx } from '../../../kernel/db/index.ts';
import { firstMailLimits as limits, mailboxOf } from '../rules/first-mail.ts';
import { type Allowance, countHeldBack, giveAllowanceBack, type HeldBackRow, takeAllowance } from '../store/first-mails.ts';

const hour = 3_600;
const day = 24 * hour;

export interface FirstMail {
  org: string;
  pageId: string;
  address: string;
  /** Where the wish came from. */
  client: string;
}

const subjectOf = (kind: string, name: string) => hash('sha256', `${kind} ${name}`, 'hex');

/**
 * Whether one more first mail may leave; else why not, which the organization can see. The counters are rows that stay locked until the
 * transaction ends, always in this order, so of two requests at once the second counts the first.
 */
export async function admitFirstMail(tx: Tx, { org, pageId, address, client }: FirstMail): Promise<HeldBackRow['reason'] | undefined> {
  const ofRecipient = { subject: subjectOf('recipient', mailboxOf(address)), seconds: day, most: limits.recipient.day };
  const reason = await findRefusal(tx, ofRecipient, org, client);
  if (reason) await countHeldBack(tx, org, pageId, reason);
  return reason;
}

async function findRefusal(tx: Tx, ofRecipient: Allowance, org: string, client: string): Promise<HeldBackRow['reason'] | undefined> {
  if (!(await takeAllowance(tx, { subject: subjectOf('client', client), seconds: hour, most: limits.client.hour }))) return 'client';
  if (!(await takeAllowance(tx, ofRecipient))) return 'recipient';
  const subject = subjectOf('organization', org);
  const { organization } = limits;
  if (
    (await takeAllowance(tx, { subject, seconds: hour, most: organization.hour })) &&
    (await takeAllowance(tx, { subject, seconds: day, most: organization.day }))
  )
    return undefined;
  await giveAllowanceBack(tx, ofRecipient);
  return 'organization';
}
