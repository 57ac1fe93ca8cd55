import type { Tx } from '../../../../kernel/db/index.ts';
import { enqueueMany } from '../../../../kernel/jobs/index.ts';
import { now } from '../../../../kernel/time.ts';
import * as store from '../../store/webhook-events.ts';
import { type EventType, eventPayload } from '../../views/webhook-event.ts';
import { deliverWebhook } from './deliver.ts';

/** Something that endpoints may want to hear of. */
export interface WebhookEvent {
  org: string;
  type: EventType;
  /** The message that it is about: what the log says of it is told too. */
  messageId?: string;
  /** Told whatever it subscribes to, and also when it is disabled: then its delivery fails, and says so. */
  endpointId?: string;
  data: Record<string, unknown>;
}

/** Freezes what happened for the endpoints that want to hear it, in the transaction in which it happens. Whoever has none costs one question. */
export async function emitEvents(tx: Tx, happenings: readonly WebhookEvent[]): Promise<void> {
  if (happenings.length === 0) return;
  const subscribed = await store.findSubscribed(tx, [...new Set(happenings.map(({ org }) => org))]);
  const wants = new Set(subscribed.flatMap(({ org_id, event_types }) => event_types.map((type) => `${org_id} ${type}`)));
  const wanted = happenings.filter(({ org, type, endpointId }) => endpointId !== undefined || wants.has(`${org} ${type}`));
  if (wanted.length === 0) return;

  const at = subscribed[0]?.now ?? (await now(tx));
  const about = [...new Set(wanted.flatMap(({ messageId }) => messageId ?? []))];
  const messages = new Map((about.length ? await store.findToldMessages(tx, about) : []).map((m) => [m.id, m]));
  const events = wanted.map(({ org, type, messageId, endpointId, data }) => ({
    org_id: org,
    type,
    message_id: messageId ?? null,
    endpoint_id: endpointId ?? null,
    payload: eventPayload(type, at, messages.get(messageId ?? ''), data),
  }));
  await enqueueDeliveries(tx, await store.insertEvents(tx, at, events));
}

/** A job each. */
export const enqueueDeliveries = (tx: Tx, made: readonly store.DeliveryIdRow[]) =>
  enqueueMany(
    tx,
    deliverWebhook,
    made.map(({ id, org_id, endpoint_id }) => ({ key: String(id), org: org_id, payload: { id, endpointId: endpoint_id } })),
  );
