import { randomBytes } from 'node:crypto';
import type { App } from '../../../../kernel/app.ts';
import type { Tx } from '../../../../kernel/db/index.ts';
import { conflict, forbidden, notFound } from '../../../../kernel/errors.ts';
import { hasDelivery } from '../store/deliveries.ts';
import { insertRedelivery } from '../store/webhook-events.ts';
import * as store from '../store/webhooks.ts';
import { failWaiting } from './disable.ts';
import { enqueueDeliveries } from './emit-events.ts';

const maxEndpoints = 50;
export const byHand = 'by hand';

const newSecret = () => `whsec_${randomBytes(32).toString('base64')}`;
const sealSecret = ({ secrets }: App, id: string, secret: string) => secrets.seal(secret, `email.webhook.secret.${id}`);

export const lockEndpoint = async (tx: Tx, org: string, id: string): Promise<store.WebhookRow> =>
  (await store.lockWebhook(tx, org, id)) ?? notFound('webhook');

/** The secret is shown once. */
export async function createEndpoint(tx: Tx, app: App, org: string, wanted: { url: string; eventTypes: readonly string[] }) {
  app.guard.checkUrl('webhook', wanted.url);
  if ((await store.countWebhooks(tx, org)) >= maxEndpoints)
    forbidden(`the organization has ${maxEndpoints} webhook endpoints, as many as it may; delete one first`, { code: 'quota_reached' });
  const id = await store.newWebhookId(tx);
  const signingSecret = newSecret();
  const made = await store.insertWebhook(tx, org, { ...wanted, id, secret: sealSecret(app, id, signingSecret) });
  return { made, signingSecret };
}

export interface EndpointChange {
  url?: string;
  eventTypes?: readonly string[];
  disabled?: boolean;
}

/** Waiting deliveries of an endpoint that becomes disabled fail with the reason. */
export async function changeEndpoint(tx: Tx, app: App, endpoint: store.WebhookRow, to: EndpointChange): Promise<store.WebhookRow> {
  if (to.url !== undefined) app.guard.checkUrl('webhook', to.url);
  const { org_id: org, id } = endpoint;
  const disabled = to.disabled ?? endpoint.disabled;
  const changed = await store.updateWebhook(tx, org, id, {
    url: to.url ?? endpoint.url,
    eventTypes: to.eventTypes ?? endpoint.event_types,
    disabled,
    reason: disabled ? (endpoint.disabled_reason ?? byHand) : null,
  });
  if (disabled && !endpoint.disabled) await failWaiting(tx, org, id, `the endpoint is disabled: ${byHand}`);
  return changed;
}

/** Takes effect at once: every attempt reads the secret as it begins. */
export async function rotateSecret(tx: Tx, app: App, { org_id, id }: store.WebhookRow): Promise<string> {
  const secret = newSecret();
  await store.replaceSecret(tx, org_id, id, sealSecret(app, id, secret));
  return secret;
}

/** Its deliveries stay listed until they expire. 409 while a route leads to the endpoint: inbound mail needs a destination. */
export async function deleteEndpoint(tx: Tx, { org_id, id }: store.WebhookRow): Promise<void> {
  const route = await store.routeTo(tx, org_id, id);
  if (route) conflict(`the route ${route.pattern}@${route.name} leads to this endpoint; delete it first`);
  await store.deleteWebhook(tx, org_id, id);
  await failWaiting(tx, org_id, id, 'the endpoint was deleted');
}

/** A new delivery of the same bytes under the same `webhook-id`. Returns its id. */
export async function redeliver(tx: Tx, org: string, id: number): Promise<number> {
  if (!(await hasDelivery(tx, org, id))) notFound('delivery');
  const made = await insertRedelivery(tx, org, id);
  if (made.length === 0) notFound('webhook: it was deleted, or what was told is older than 30 days');
  await enqueueDeliveries(tx, made);
  return made[0]!.id;
}
