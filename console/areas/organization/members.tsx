import { ThingList } from '../../ui/thing-list.tsx';

/** Members sign in and act by their roles. */
export default function Members() {
  return (
    <ThingList
      title="Members"
      operation="listMembers"
      create="createInvitation"
      acts={[
        { operation: 'updateMember', label: 'Change role', params: (row) => [String(row['userId'])], input: ({ role }) => ({ role }) },
        { operation: 'removeMember', label: 'Remove', params: (row) => [String(row['userId'])] },
      ]}
      about="Members sign in and act by their roles."
    />
  );
}
