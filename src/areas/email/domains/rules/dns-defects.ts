import type { ExpectedRecord } from './dns-records.ts';

/** The part of kernel/dns's answer that is compared here. */
export interface DnsAnswer {
  outcome: 'found' | 'nxdomain' | 'nodata' | 'servfail' | 'timeout';
  /** MX: { preference, exchange }; TXT: the joined text. */
  records: readonly { data: unknown }[];
  /** CNAME targets on the way. */
  aliases: readonly string[];
  ttl: number;
  server: string;
}

/** The defect of one record. */
export type Defect = 'nxdomain' | 'nodata' | 'wrong_value' | 'multiple_records' | 'extra_mx' | 'cname_conflict' | 'servfail' | 'timeout';

export interface Observation {
  record: ExpectedRecord;
  outcome: 'found' | 'missing' | 'mismatch' | 'error';
  /** The published value that does not match. */
  observed?: string;
  /** The first published values of this name and type. */
  observedAll: string[];
  /** A defect, or a sentence about why the record cannot be published. */
  reason?: Defect | (string & {});
  ttl?: number;
  resolver: string;
}

/** Published records are untrusted, so the shown part is bounded. */
const maxShown = 20;
const maxShownLength = 1_000;
const shown = (text: string) => (text.length > maxShownLength ? `${text.slice(0, maxShownLength)}…` : text);

/** Compares the DNS answer with the expected record. */
export function observeRecord(record: ExpectedRecord, answer: DnsAnswer): Observation {
  const { outcome, ttl, server: resolver, aliases } = answer;
  if (outcome === 'servfail' || outcome === 'timeout') return { record, outcome: 'error', reason: outcome, observedAll: [], resolver };
  const values = answer.records.map(({ data }) => shown(record.type === 'MX' ? writeMx(data as Mx) : collapse(data as string)));
  const common = { record, observedAll: values.slice(0, maxShown), ttl, resolver };
  const alias = aliases.at(-1);
  if (outcome !== 'found') {
    if (alias !== undefined) return { ...common, outcome: 'mismatch', observed: `CNAME ${shown(alias)}`, reason: 'cname_conflict' };
    return { ...common, outcome: 'missing', reason: outcome };
  }
  const defect = findDefect(record, answer);
  if (!defect) return { ...common, outcome: 'found' };
  if (alias !== undefined) return { ...common, outcome: 'mismatch', observed: `CNAME ${shown(alias)}`, reason: 'cname_conflict' };
  return { ...common, outcome: 'mismatch', observed: shown(defect.observed), reason: defect.reason };
}

interface Mx {
  preference: number;
  exchange: string;
}
interface FoundDefect {
  reason: Defect;
  observed: string;
}
const writeMx = ({ preference, exchange }: Mx) => `${preference} ${exchange || '.'}`;

/** Verifiers ignore extra white space. */
const collapse = (text: string) => text.replaceAll(/\s+/g, ' ').trim();

function findDefect(record: ExpectedRecord, { records }: DnsAnswer): FoundDefect | undefined {
  const data = records.map((r) => r.data);
  switch (record.kind) {
    case 'mx':
      return mxDefect(record, data as Mx[]);
    case 'inbound':
      return inboundDefect(record, data as Mx[]);
    case 'dkim':
      return dkimDefect(record, data as string[]);
    case 'spf':
      return policyDefect(data as string[], /^v=spf1(?: |$)/i, (text) => permitsHost(text, hostOfSpf(record.value)));
    case 'dmarc':
      return policyDefect(data as string[], /^v=DMARC1 ?(?:;|$)/, (text) => /; ?p ?= ?(?:none|quarantine|reject)\b/i.test(text));
  }
}

function mxDefect({ value }: ExpectedRecord, found: Mx[]): FoundDefect | undefined {
  const others = found.filter(({ exchange }) => exchange !== value);
  if (!others.length) return undefined;
  const isOursThere = others.length < found.length;
  // Some reports would go to the other hosts and be lost.
  return { reason: isOursThere ? 'extra_mx' : 'wrong_value', observed: others.slice(0, maxShown).map(writeMx).join(', ') };
}

/** Our host must be alone at the lowest preference. Hosts behind it are backups. */
function inboundDefect({ value }: ExpectedRecord, found: Mx[]): FoundDefect | undefined {
  const ours = found.filter(({ exchange }) => exchange === value).map(({ preference }) => preference);
  const others = found.filter(({ exchange, preference }) => exchange !== value && preference <= Math.min(...ours));
  if (ours.length && !others.length) return undefined;
  const conflicting = ours.length ? others : found;
  return { reason: ours.length ? 'extra_mx' : 'wrong_value', observed: conflicting.slice(0, maxShown).map(writeMx).join(', ') };
}

/** RFC 6376 3.6.2.2: results with two records of a selector are undefined. */
function dkimDefect({ value }: ExpectedRecord, found: string[]): FoundDefect | undefined {
  if (found.length > 1) return { reason: 'multiple_records', observed: found.slice(0, maxShown).map(collapse).join(' | ') };
  const expected = readDkim(value);
  const published = readDkim(found[0]!);
  const isSame = expected && published && published.algorithm === expected.algorithm && published.key.equals(expected.key);
  return isSame ? undefined : { reason: 'wrong_value', observed: collapse(found[0]!) };
}

/** Tags of `v=DKIM1; k=rsa; p=…` in any order (RFC 6376 3.2, 3.6.1). Undefined: unreadable, for example a value in quotes. */
function readDkim(text: string): { algorithm: string; key: Buffer } | undefined {
  const tags = new Map<string, string>();
  for (const part of text.split(';')) {
    const at = part.indexOf('=');
    const tag = part.slice(0, Math.max(at, 0)).trim();
    if (!/^[a-z]\w*$/i.test(tag)) {
      if (part.trim()) return undefined;
    } else if (!tags.has(tag)) tags.set(tag, part.slice(at + 1).trim());
  }
  const encoded = (tags.get('p') ?? '').replaceAll(/\s/g, '');
  if ((tags.get('v') ?? 'DKIM1') !== 'DKIM1' || !/^[A-Za-z0-9+/]+=*$/.test(encoded)) return undefined;
  return { algorithm: tags.get('k') ?? 'rsa', key: Buffer.from(encoded, 'base64') };
}

/** Other TXT records are fine, but with two policies neither counts (RFC 7208 4.5, RFC 7489 6.6.3). */
function policyDefect(found: string[], begins: RegExp, isGood: (text: string) => boolean): FoundDefect | undefined {
  const texts = found.map(collapse);
  const policies = texts.filter((text) => begins.test(text));
  if (policies.length > 1) return { reason: 'multiple_records', observed: policies.slice(0, maxShown).join(' | ') };
  const policy = policies[0];
  return policy !== undefined && isGood(policy) ? undefined : { reason: 'wrong_value', observed: policy ?? texts[0]! };
}

const hostOfSpf = (value: string) => /(?<= a:)\S+/.exec(value)?.[0] ?? '';

/** Accepts the host by name, `mx` (our host is the MX of the same name), or a policy that the host publishes. */
function permitsHost(policy: string, host: string): boolean {
  const terms = policy.toLowerCase().split(' ').slice(1);
  const ways = new Set([`a:${host}`, `mx`, `include:${host}`, `redirect=${host}`]);
  return terms.some((term) => ways.has(term.replace(/^\+/, '').replace(/\.$/, '')));
}
