import { ThingSheet } from '../../ui/thing-sheet.tsx';

/** Where bills, technical notices and security reports go. */
export default function Contacts() {
  return (
    <ThingSheet
      title="Contacts"
      operation="getContacts"
      params={[]}
      name="-"
      crumbs={[]}
      acts={[
        {
          operation: 'updateContacts',
          label: 'Change',
          params: [],
          input: ({ billingEmail, technicalEmail, securityEmail }) => ({ billingEmail, technicalEmail, securityEmail }),
        },
      ]}
    />
  );
}
