import type { App } from '../../../../kernel/app.ts';
import { signEvent } from '../clients/webhook.ts';
import { secretsAt } from '../store/webhooks.ts';

export interface ReceivedDelivery {
  /** The URL that it was sent to. */
  url: string;
  eventId: string;
  at: number;
  payload: string;
  signature: string;
}

/** Whether an endpoint here at this URL signed the delivery: its id, or undefined. For the webhook echo of `serve --try`. */
export async function findSigner(app: App, { url, signature, ...event }: ReceivedDelivery): Promise<string | undefined> {
  const endpoints = await app.db.read((tx) => secretsAt(tx, url));
  return endpoints.find(
    ({ id, secret }) => signEvent({ ...event, secret: app.secrets.unseal(secret, `email.webhook.secret.${id}`) }) === signature,
  )?.id;
}
