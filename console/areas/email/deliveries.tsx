import { ThingList } from '../../ui/thing-list.tsx';

/** Each attempt to tell a webhook appears here. */
export default function Deliveries() {
  return (
    <ThingList
      title="Webhook deliveries"
      operation="listWebhookDeliveries"
      acts={[{ operation: 'redeliverWebhook', label: 'Send again', params: (row) => [String(row['id'])] }]}
      about="Each attempt to tell a webhook appears here."
    />
  );
}
