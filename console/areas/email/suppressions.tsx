import { ThingList } from '../../ui/thing-list.tsx';

/** An address that bounced for good or complained gets no more mail. */
export default function Suppressions() {
  return (
    <ThingList
      title="Suppressed addresses"
      operation="listSuppressions"
      create="createSuppression"
      acts={[{ operation: 'deleteSuppression', label: 'Mail again', params: (row) => [String(row['id'])] }]}
      about="An address that bounced for good or complained gets no more mail."
    />
  );
}
