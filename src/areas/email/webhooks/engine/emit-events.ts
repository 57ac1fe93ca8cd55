import type { Tx } from '../../../../kernel/db/index.ts';
import { enqueueMany, hintEach } from '../../../../kernel/jobs/index.ts';
import { now } from '../../../../kernel/time.ts';
import * as store from '../store/webhook-events.ts';
import { type EventType, eventPayload } from '../views/webhook-event.ts';
import { deliverWebhook } from './deliver.ts';

/** An event before it is matched with subscriptions. */
export interface WebhookEvent {
  org: string;
  type: EventType;
  /** The message it is about, whose log fields become part of the payload. */
  messageId?: string;
  /** Deliver to this endpoint regardless of its subscriptions. If it is disabled, the delivery fails with that reason. */
  endpointId?: string;
  data: Record<string, unknown>;
}

/** Writes the payloads for subscribed endpoints in the caller's transaction. An organization without endpoints costs one statement. */
export async function emitEvents(tx: Tx, happenings: readonly WebhookEvent[]): Promise<void> {
  if (happenings.length === 0) return;
  const subscribed = await store.findSubscribed(tx, [...new Set(happenings.map(({ org }) => org))]);
  const wants = new Set(subscribed.flatMap(({ org_id, event_types }) => event_types.map((type) => `${org_id} ${type}`)));
  const wanted = happenings.filter(({ org, type, endpointId }) => endpointId !== undefined || wants.has(`${org} ${type}`));
  if (wanted.length === 0) return;

  const at = subscribed[0]?.now ?? (await now(tx));
  const about = [...new Set(wanted.flatMap(({ messageId }) => messageId ?? []))];
  const messages = new Map((about.length ? await store.findEventMessages(tx, about) : []).map((m) => [m.id, m]));
  const events = wanted.map(({ org, type, messageId, endpointId, data }) => ({
    org_id: org,
    type,
    message_id: messageId ?? null,
    endpoint_id: endpointId ?? null,
    payload: eventPayload(type, at, messages.get(messageId ?? ''), data),
  }));
  hintEach(
    tx,
    events.map(({ org_id }) => org_id),
    'email.webhook',
  );
  await enqueueDeliveries(tx, await store.insertEvents(tx, at, events));
}

/** One job per delivery. */
export const enqueueDeliveries = (tx: Tx, made: readonly store.DeliveryIdRow[]) =>
  enqueueMany(
    tx,
    deliverWebhook,
    made.map(({ id, org_id, endpoint_id }) => ({ key: String(id), org: org_id, payload: { id, endpointId: endpoint_id } })),
  );
