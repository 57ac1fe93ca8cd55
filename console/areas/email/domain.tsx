import { ThingSheet } from '../../ui/thing-sheet.tsx';
import { DomainRecords } from './domain-records.tsx';

/** A domain, its states and the DNS records to publish. */
export default function Domain({ params }: { params: Record<string, string> }) {
  return (
    <ThingSheet
      title="Mail domain"
      operation="getDomain"
      params={[params['id']!]}
      name="name"
      state="sendState"
      crumbs={[{ to: '/email/domains', label: 'Mail domains' }]}
      acts={[
        { operation: 'checkDomain', label: 'Check now' },
        { operation: 'armDomainReceiving', label: 'Receive mail' },
        { operation: 'deleteDomain', label: 'Delete' },
      ]}
    >
      {({ id }) => <DomainRecords id={String(id)} />}
    </ThingSheet>
  );
}
