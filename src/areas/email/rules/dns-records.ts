import { unnamedHost, whyNotMailHost } from './mail-host.ts';

/** What the records of a domain follow from. */
export interface DomainKeys {
  name: string;
  rsa_selector: string;
  rsa_public: string;
  ed_selector: string;
  ed_public: string;
  /** `none`: nobody asked for mail of this domain to come here. */
  receive_state: string;
}

/** A record that the domain's owner publishes. */
export interface ExpectedRecord {
  /** How it is compared with what stands there. */
  kind: 'dkim' | 'mx' | 'spf' | 'dmarc' | 'inbound';
  capability: 'send' | 'receive';
  type: 'TXT' | 'MX';
  name: string;
  value: string;
  priority?: number;
  /** Whether verification, of sending or of receiving, waits for it. */
  required: boolean;
}

/** Reports about mail that could not be delivered come back to this name, and SPF is looked up at it: it stands in MAIL FROM. */
export const returnHostOf = (name: string) => `bounce.${name}`;

/**
 * `a:` names the server itself, so that SPF holds as soon as the mail host has an address; an `include:` would fail for everybody until the
 * operator has published a policy of their own. Soft, because a smart host may send too: its mechanism can be added beside ours.
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

/** All mail of the name comes here: whoever has a mailbox there must use another name. */
const inboundRecord = (name: string, host: string): ExpectedRecord => ({
  kind: 'inbound',
  capability: 'receive',
  type: 'MX',
  name,
  value: host,
  priority: 10,
  required: true,
});
