import { ThingList } from '../../ui/thing-list.tsx';

/** A domain sends mail once its DNS records are found. */
export default function Domains() {
  return (
    <ThingList
      title="Mail domains"
      operation="listDomains"
      create="createDomain"
      to={({ id }) => `/email/domains/${String(id)}`}
      about="A domain sends mail once its DNS records are found."
    />
  );
}
