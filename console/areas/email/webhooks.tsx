import { ThingList } from '../../ui/thing-list.tsx';

/** A webhook tells your program what became of mail. */
export default function Webhooks() {
  return (
    <ThingList
      title="Webhooks"
      operation="listWebhooks"
      create="createWebhook"
      acts={[
        {
          operation: 'updateWebhook',
          label: 'Change',
          params: (row) => [String(row['id'])],
          input: ({ url, enabled }) => ({ url, enabled }),
        },
        { operation: 'rotateWebhookSecret', label: 'New secret', params: (row) => [String(row['id'])] },
        { operation: 'deleteWebhook', label: 'Delete', params: (row) => [String(row['id'])] },
      ]}
      about="A webhook tells your program what became of mail."
    />
  );
}
