import { ThingList } from '../../ui/thing-list.tsx';

/** An invitation is a link that makes its reader a member. */
export default function Invitations() {
  return (
    <ThingList
      title="Invitations"
      operation="listInvitations"
      create="createInvitation"
      acts={[{ operation: 'deleteInvitation', label: 'Withdraw', params: (row) => [String(row['id'])] }]}
      about="An invitation is a link that makes its reader a member."
    />
  );
}
