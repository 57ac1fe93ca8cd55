import { ThingList } from '../../ui/thing-list.tsx';

/** A key lets a program send mail by HTTP or SMTP. */
export default function SendKeys() {
  return (
    <ThingList
      title="Send keys"
      operation="listSendKeys"
      create="createSendKey"
      acts={[{ operation: 'revokeSendKey', label: 'Revoke', params: (row) => [String(row['id'])] }]}
      about="A key lets a program send mail by HTTP or SMTP."
    />
  );
}
