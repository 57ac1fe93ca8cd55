import { ThingList } from '../../ui/thing-list.tsx';

/** Roles that are built in, and those of the organization; each opens as a grid of permissions. */
export default function Roles() {
  return (
    <ThingList
      title="Roles"
      operation="listRoles"
      create="createRole"
      createTo="/organization/roles/new"
      to={({ id }) => `/organization/roles/${encodeURIComponent(String(id))}`}
      about="A role of your own holds the permissions that you choose."
    />
  );
}
