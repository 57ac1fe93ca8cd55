import { ThingList } from '../../ui/thing-list.tsx';

/** A role of your own holds the permissions that you choose. */
export default function Roles() {
  return (
    <ThingList
      title="Roles"
      operation="listRoles"
      create="createRole"
      acts={[
        {
          operation: 'updateRole',
          label: 'Change',
          params: (row) => [String(row['id'])],
          input: ({ name, permissions }) => ({ name, permissions }),
        },
        { operation: 'deleteRole', label: 'Delete', params: (row) => [String(row['id'])] },
      ]}
      about="A role of your own holds the permissions that you choose."
    />
  );
}
