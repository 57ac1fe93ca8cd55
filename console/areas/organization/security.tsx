import { ThingSheet } from '../../ui/thing-sheet.tsx';

/** Whether sessions need a second factor, and who has none yet. */
export default function Security() {
  return (
    <ThingSheet
      title="Security policy"
      operation="getSecurity"
      params={[]}
      name="-"
      crumbs={[]}
      acts={[{ operation: 'updateSecurity', label: 'Change', params: [] }]}
    />
  );
}
