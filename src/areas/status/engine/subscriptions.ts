import { hash, randomBytes } from 'node:crypto';
import { type Actor, audit } from '../../../identity/audit.ts';
import type { Tx } from '../../../kernel/db/index.ts';
import { notFound } from '../../../kernel/errors.ts';
import { enqueue } from '../../../kernel/jobs/index.ts';
import type { Secrets } from '../../../kernel/secrets.ts';
import type { HeldBackRow } from '../store/mail-allowances.ts';
import type { StatusPageRow } from '../store/status-pages.ts';
import {
  confirmSubscriber,
  deleteSubscriber,
  findSubscriberByToken,
  newSubscriberId,
  type SubscriberRow,
  tokenSealContext,
  upsertPending,
} from '../store/subscribers.ts';
import { admitConfirmation } from './confirmation-limits.ts';
import { sendConfirmation } from './mails.ts';

const hashToken = (token: string) => hash('sha256', token, 'buffer');

export interface SubscribeRequest {
  address: string;
  /** The client's network address. */
  client: string;
}

/**
 * Sends a confirmation link to a new address. For other addresses nothing happens, and the caller cannot tell the difference. Returns why a
 * link is held back; a new address is not stored then.
 */
export async function subscribe(
  tx: Tx,
  secrets: Secrets,
  page: { org: string; id: string },
  { address, client }: SubscribeRequest,
): Promise<HeldBackRow['reason'] | undefined> {
  const token = randomBytes(24).toString('base64url');
  const id = await newSubscriberId(tx);
  const sealed = secrets.seal(token, tokenSealContext(id));
  const asked = await upsertPending(tx, page.org, page.id, { id, address, token: sealed, tokenHash: hashToken(token) });
  if (!asked) return undefined;
  const heldBack = await admitConfirmation(tx, { org: page.org, pageId: page.id, address, client });
  if (!heldBack) await enqueue(tx, sendConfirmation, { key: asked.id, org: page.org });
  else if (asked.id === id) await deleteSubscriber(tx, page.org, page.id, id);
  return heldBack;
}

/** The subscriber of a valid token. */
export const findTokenHolder = (tx: Tx, pageId: string, token: string) => findSubscriberByToken(tx, pageId, hashToken(token));

export const confirmSubscription = (tx: Tx, holder: SubscriberRow) => confirmSubscriber(tx, holder.org_id, holder.id);

export const unsubscribe = (tx: Tx, holder: SubscriberRow) => deleteSubscriber(tx, holder.org_id, holder.page_id, holder.id);

/** Removes a subscriber on behalf of the team. */
export async function removeSubscriber(tx: Tx, actor: Actor, page: StatusPageRow, id: string): Promise<void> {
  if (!(await deleteSubscriber(tx, actor.org, page.id, id))) notFound('subscriber');
  await audit(tx, actor, 'status.subscriber.remove', { id }, { slug: page.slug });
}
