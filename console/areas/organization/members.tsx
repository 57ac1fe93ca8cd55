import { useMay } from '../../data/rights.ts';
import { ThingList } from '../../ui/thing-list.tsx';

/** People who sign in here and act by their roles; each opens with what they may do. */
export default function Members() {
  const mayOpen = useMay('getEffectivePermissions');
  return (
    <ThingList
      title="Members"
      operation="listMembers"
      create="createInvitation"
      {...(mayOpen ? { to: ({ userId }) => `/organization/members/${encodeURIComponent(String(userId))}` } : {})}
      acts={[
        { operation: 'updateMember', label: 'Change role', params: (row) => [String(row['userId'])], input: ({ role }) => ({ role }) },
        { operation: 'removeMember', label: 'Remove', params: (row) => [String(row['userId'])] },
      ]}
      example="quarterdeck organization invitations create --email ada@example.com --role member"
      about="Members sign in and act by their roles. Invite the first one by a link."
    />
  );
}
