import type { EmailDnsRecord } from '../../../sdk/browser.ts';

// DNS records as people paste them. Pure.

/** A string of a TXT record has at most 255 bytes (RFC 1035, 3.3); a longer value is several strings. */
const maxString = 255;

export const txtStrings = (value: string): string =>
  (value.match(new RegExp(`[^]{1,${maxString}}`, 'g')) ?? ['']).map((part) => `"${part.replaceAll(/["\\]/g, '\\$&')}"`).join(' ');

const dotted = (name: string) => (name.endsWith('.') ? name : `${name}.`);

const zoneLine = ({ type, name, value, priority }: EmailDnsRecord): string =>
  [
    dotted(name),
    '3600',
    'IN',
    type,
    type === 'TXT' ? txtStrings(value) : `${priority === undefined ? '' : `${priority} `}${dotted(value)}`,
  ].join('\t');

export const zoneFile = (records: readonly EmailDnsRecord[]): string => records.map(zoneLine).join('\n');

const repairs: Record<string, string> = {
  nxdomain: 'Nothing stands at this name. Add the record where the DNS of the domain is kept.',
  nodata: 'The name is there, and no record of this type. Add it where the DNS of the domain is kept.',
  wrong_value: 'Another value stands there. Replace it by the one above.',
  multiple_records: 'Several records of this kind stand there, and only one may. Leave one with the value above.',
  extra_mx: 'Another mail server stands beside this one, and would get some of the mail. Remove it.',
  cname_conflict: 'A CNAME stands at this name and hides every other record. Remove it, or use another name.',
  servfail: 'The name servers of the domain answer with an error. Look there; it is asked again by itself.',
  timeout: 'The name servers of the domain do not answer. Look there; it is asked again by itself.',
};

/** How to mend a record; a reason of a later release is a sentence already. */
export const repairOf = (reason: string | undefined): string | undefined =>
  reason === undefined ? undefined : (repairs[reason] ?? reason);
