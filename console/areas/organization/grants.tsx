import { ThingList } from '../../ui/thing-list.tsx';

/** A grant gives a member a role, on everything or on some resources. */
export default function Grants() {
  return (
    <ThingList
      title="Grants"
      operation="listGrants"
      create="createGrant"
      acts={[{ operation: 'deleteGrant', label: 'Take away', params: (row) => [String(row['id'])] }]}
      about="A grant gives a member a role, on everything or on some resources."
    />
  );
}
