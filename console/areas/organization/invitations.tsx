import { ThingList } from '../../ui/thing-list.tsx';

/** An invitation is a link that makes its reader a member. */
export default function Invitations() {
  return (
    <ThingList
      title="Invitations"
      operation="listInvitations"
      create="createInvitation"
      acts={[{ operation: 'deleteInvitation', label: 'Withdraw', params: (row) => [String(row['id'])] }]}
      example="quarterdeck organization invitations create --email ada@example.com --role member"
      about="An invitation is a link that makes its reader a member."
    />
  );
}
