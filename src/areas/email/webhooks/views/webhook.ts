import type { DeliveryRow } from '../store/deliveries.ts';
import type { WebhookRow } from '../store/webhooks.ts';

export const webhookView = (w: WebhookRow) => ({
  id: w.id,
  url: w.url,
  eventTypes: w.event_types,
  disabled: w.disabled,
  ...(w.disabled_reason === null ? {} : { disabledReason: w.disabled_reason }),
  createdAt: w.created_at,
});

export const deliveryView = (d: DeliveryRow) => ({
  id: d.id,
  endpointId: d.endpoint_id,
  eventType: d.event_type,
  ...(d.message_id === null ? {} : { messageId: d.message_id }),
  state: d.state,
  attempts: d.attempts,
  ...(d.last_status === null ? {} : { lastStatus: d.last_status }),
  ...(d.last_error === null ? {} : { lastError: d.last_error }),
  ...(d.state === 'delivered' && d.done_at !== null ? { deliveredAt: d.done_at } : {}),
  createdAt: d.created_at,
});
