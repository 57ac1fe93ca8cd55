import { hash } from 'node:crypto';
import type { Tx } from '../../../kernel/db/index.ts';
import { confirmationLimits as limits, mailboxOf } from '../rules/confirmation-mail.ts';
import { type Allowance, countHeldBack, type HeldBackRow, returnAllowance, takeAllowance } from '../store/mail-allowances.ts';

const hour = 3_600;
const day = 24 * hour;

export interface ConfirmationRequest {
  org: string;
  pageId: string;
  address: string;
  /** The client's network address. */
  client: string;
}

const subjectOf = (kind: string, name: string) => hash('sha256', `${kind} ${name}`, 'hex');

/**
 * Undefined: one more confirmation mail may be sent. Otherwise the reason, which the organization can see. The counters are rows locked
 * until the transaction ends, always in this order, so concurrent requests count each other.
 */
export async function admitConfirmation(
  tx: Tx,
  { org, pageId, address, client }: ConfirmationRequest,
): Promise<HeldBackRow['reason'] | undefined> {
  const ofRecipient = { subject: subjectOf('recipient', mailboxOf(address)), seconds: day, max: limits.recipient.day };
  const reason = await findRefusal(tx, ofRecipient, org, client);
  if (reason) await countHeldBack(tx, org, pageId, reason);
  return reason;
}

async function findRefusal(tx: Tx, ofRecipient: Allowance, org: string, client: string): Promise<HeldBackRow['reason'] | undefined> {
  if (!(await takeAllowance(tx, { subject: subjectOf('client', client), seconds: hour, max: limits.client.hour }))) return 'client';
  if (!(await takeAllowance(tx, ofRecipient))) return 'recipient';
  const subject = subjectOf('organization', org);
  const { organization } = limits;
  if (
    (await takeAllowance(tx, { subject, seconds: hour, max: organization.hour })) &&
    (await takeAllowance(tx, { subject, seconds: day, max: organization.day }))
  )
    return undefined;
  await returnAllowance(tx, ofRecipient);
  return 'organization';
}
