import { unnamedHost, whyNotMailHost } from './mail-host.ts';

/** The domain columns that determine its DNS records. */
export interface DomainKeys {
  name: string;
  rsa_selector: string;
  rsa_public: string;
  ed_selector: string;
  ed_public: string;
  /** `none`: the domain is not armed for receiving. */
  receive_state: string;
}

/** A record that the domain's owner publishes. */
export interface ExpectedRecord {
  /** Selects the comparison with the published record. */
  kind: 'dkim' | 'mx' | 'spf' | 'dmarc' | 'inbound';
  capability: 'send' | 'receive';
  type: 'TXT' | 'MX';
  name: string;
  value: string;
  priority?: number;
  /** Whether verification needs this record. */
  required: boolean;
}

/** The domain of MAIL FROM: bounce reports come back here, and receivers check its SPF. */
export const returnHostOf = (name: string) => `bounce.${name}`;

/**
 * SPF uses `a:` so that it passes as soon as the mail host has an address. An `include:` would fail for every domain until the operator publishes
 * a policy. It ends in `~all` because the owner may add the mechanism of a smart host.
 */
export function recordsOf(domain: DomainKeys, mailHost: string): ExpectedRecord[] {
  const host = whyNotMailHost(mailHost) ? unnamedHost : mailHost.toLowerCase();
  const returnHost = returnHostOf(domain.name);
  const txt = { capability: 'send', type: 'TXT', required: true } as const;
  return [
    { ...txt, kind: 'dkim', name: `${domain.rsa_selector}._domainkey.${domain.name}`, value: `v=DKIM1; k=rsa; p=${domain.rsa_public}` },
    { ...txt, kind: 'dkim', name: `${domain.ed_selector}._domainkey.${domain.name}`, value: `v=DKIM1; k=ed25519; p=${domain.ed_public}` },
    { kind: 'mx', capability: 'send', type: 'MX', name: returnHost, value: host, priority: 10, required: true },
    { ...txt, kind: 'spf', name: returnHost, value: `v=spf1 a:${host} ~all` },
    { ...txt, kind: 'dmarc', name: `_dmarc.${domain.name}`, value: 'v=DMARC1; p=none', required: false },
    ...(domain.receive_state === 'none' ? [] : [inboundRecord(domain.name, host)]),
  ];
}

/** All mail of the name comes here, so a name with mailboxes elsewhere must not be armed. */
const inboundRecord = (name: string, host: string): ExpectedRecord => ({
  kind: 'inbound',
  capability: 'receive',
  type: 'MX',
  name,
  value: host,
  priority: 10,
  required: true,
});
