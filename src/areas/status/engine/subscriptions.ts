import { hash, randomBytes } from 'node:crypto';
import type { App } from '../../../kernel/app.ts';
import { enqueue } from '../../../kernel/jobs/index.ts';
import { sendConfirmation } from './mails.ts';
import * as store from '../store/subscribers.ts';

const hashOf = (token: string) => hash('sha256', token, 'buffer');

/** A link is on its way to whoever is not subscribed yet; for the others nothing happens, and nobody can tell. */
export async function subscribe(app: App, org: string, pageId: string, address: string): Promise<void> {
  const token = randomBytes(24).toString('base64url');
  await app.db.write(async (tx) => {
    const id = await store.newSubscriberId(tx);
    const sealed = app.secrets.seal(token, store.tokenPlace(id));
    const asked = await store.askSubscriber(tx, org, pageId, { id, address, token: sealed, tokenHash: hashOf(token) });
    if (asked) await enqueue(tx, sendConfirmation, { key: asked.id, org });
  });
}

/** Whose token it is, while it holds. */
export const tokenHolder = (app: App, pageId: string, token: string) =>
  app.db.read((tx) => store.subscriberByToken(tx, pageId, hashOf(token)));

export const confirm = (app: App, holder: store.SubscriberRow) =>
  app.db.write((tx) => store.confirmSubscriber(tx, holder.org_id, holder.id));

export const unsubscribe = (app: App, holder: store.SubscriberRow) =>
  app.db.write((tx) => store.deleteSubscriber(tx, holder.org_id, holder.page_id, holder.id));
