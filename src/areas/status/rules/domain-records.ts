import { createHash } from 'node:crypto';
import { oneLine } from '../../../identity/rules/one-line.ts';

/** What the owner of a domain publishes so that a page is read there. */
export interface DomainRecord {
  type: 'CNAME' | 'TXT';
  name: string;
  value: string;
}

export interface RecordFinding {
  type: DomainRecord['type'];
  outcome: 'found' | 'missing' | 'mismatch' | 'error';
  /** What stands there instead. */
  observed?: string;
}

/** The value says which organization may have the name. It is no secret: only the domain's owner can publish it. */
const proofOf = (org: string, name: string) =>
  `quarterdeck-organization=${createHash('sha256').update(`${org} ${name}`).digest('hex').slice(0, 32)}`;

export const proofName = (name: string) => `_quarterdeck.${name}`;

/** The alias leads readers here. A name that another organization has or had also needs a proof. */
export function recordsOf({ org, name, isContested }: { org: string; name: string; isContested: boolean }, target: string): DomainRecord[] {
  const alias: DomainRecord = { type: 'CNAME', name, value: target };
  return isContested ? [alias, { type: 'TXT', name: proofName(name), value: proofOf(org, name) }] : [alias];
}

/** The part of kernel/dns's answer that is compared here. */
export interface DnsFinding {
  outcome: 'found' | 'nxdomain' | 'nodata' | 'servfail' | 'timeout';
  records: readonly { data: unknown }[];
  aliases: readonly string[];
}

const isUnknown = ({ outcome }: DnsFinding) => outcome === 'servfail' || outcome === 'timeout';
const hostOf = (data: unknown) => String(data).toLowerCase().replace(/\.$/, '');
const maxShown = 300;
/** The owner of a domain writes it in the DNS: it is kept, and shown to members, without NUL and half a surrogate pair. */
const shown = (text: string) => oneLine(text.length > maxShown ? `${text.slice(0, maxShown)}…` : text);

/**
 * Whether a name leads here: by an alias to our host, also over others; or, where a domain's own name can have no alias and its provider
 * publishes addresses instead, by those of our host alone.
 */
export function judgeAlias(
  target: string,
  alias: DnsFinding,
  addresses: readonly DnsFinding[],
  ours: readonly DnsFinding[],
): RecordFinding {
  const type = 'CNAME';
  const direct = alias.outcome === 'found' ? alias.records.map(({ data }) => hostOf(data)) : [];
  const onTheWay = addresses.flatMap(({ aliases }) => aliases.map(hostOf));
  if (direct.includes(target) || onTheWay.includes(target)) return { type, outcome: 'found' };
  if (direct.length) return { type, outcome: 'mismatch', observed: shown(`CNAME ${direct.join(', ')}`) };
  const found = addresses.flatMap(({ records }) => records.map(({ data }) => String(data)));
  if (!found.length) return { type, outcome: isUnknown(alias) || addresses.some(isUnknown) ? 'error' : 'missing' };
  const own = new Set(ours.flatMap(({ records }) => records.map(({ data }) => String(data))));
  if (own.size > 0 && found.every((address) => own.has(address))) return { type, outcome: 'found' };
  return { type, outcome: ours.some(isUnknown) ? 'error' : 'mismatch', observed: shown(found.join(', ')) };
}

export function judgeProof(value: string, answer: DnsFinding): RecordFinding {
  const type = 'TXT';
  if (isUnknown(answer)) return { type, outcome: 'error' };
  const texts = answer.records.map(({ data }) => String(data).trim());
  if (texts.includes(value)) return { type, outcome: 'found' };
  return texts.length ? { type, outcome: 'mismatch', observed: shown(texts.join(' | ')) } : { type, outcome: 'missing' };
}

/** What a member reads of a record, and how to mend it. */
export function tellRecord({ type, name, value }: DomainRecord, finding: RecordFinding | undefined): string {
  const publish = `publish ${type} ${value} at ${name}`;
  if (!finding) return `not looked up yet; ${publish}`;
  if (finding.outcome === 'found') return 'found';
  if (finding.outcome === 'error') return 'the name servers of the domain do not answer; it is looked up again';
  if (finding.outcome === 'missing') return `missing; ${publish}`;
  return `${finding.observed ?? 'something else'} stands there instead; ${type === 'CNAME' ? `replace it: ${publish}` : publish}`;
}

/** Whether a name is of the same zone as one of these hosts: below what a host's own name is below of, or below the host itself. */
export const isBeside = (name: string, hosts: readonly string[]): boolean =>
  hosts.some((host) => {
    const labels = host.split('.');
    const zone = labels.length > 2 ? labels.slice(1).join('.') : host;
    return zone.includes('.') && (name === zone || name.endsWith(`.${zone}`));
  });
