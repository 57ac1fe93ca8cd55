import { ThingList } from '../../ui/thing-list.tsx';

/** A route says where mail to an address goes. */
export default function Routes() {
  return (
    <ThingList
      title="Inbound routes"
      operation="listRoutes"
      create="createRoute"
      acts={[{ operation: 'deleteRoute', label: 'Delete', params: (row) => [String(row['id'])] }]}
      about="A route says where mail to an address goes."
    />
  );
}
