import type { ExpectedRecord } from './dns-records.ts';

/** What the DNS said of one name and type; kernel/dns has the whole of it. */
export interface DnsAnswer {
  outcome: 'found' | 'nxdomain' | 'nodata' | 'servfail' | 'timeout';
  /** MX: { preference, exchange }; TXT: the joined text. */
  records: readonly { data: unknown }[];
  /** Names that CNAMEs led through. */
  aliases: readonly string[];
  ttl: number;
  server: string;
}

/** What is wrong with one record, exactly. */
export type Defect = 'nxdomain' | 'nodata' | 'wrong_value' | 'multiple_records' | 'extra_mx' | 'cname_conflict' | 'servfail' | 'timeout';

export interface Observation {
  record: ExpectedRecord;
  outcome: 'found' | 'missing' | 'mismatch' | 'error';
  /** What stands there instead. */
  observed?: string;
  /** All of that name and type, the first few. */
  observedAll: string[];
  /** A defect; or a sentence about what keeps anybody from publishing it. */
  reason?: Defect | (string & {});
  ttl?: number;
  resolver: string;
}

/** A stranger's records are shown, but not at any length. */
const mostShown = 20;
const longestShown = 1_000;
const shown = (text: string) => (text.length > longestShown ? `${text.slice(0, longestShown)}…` : text);

/** Holds what the DNS says against what it should say. */
export function observeRecord(record: ExpectedRecord, answer: DnsAnswer): Observation {
  const { outcome, ttl, server: resolver, aliases } = answer;
  if (outcome === 'servfail' || outcome === 'timeout') return { record, outcome: 'error', reason: outcome, observedAll: [], resolver };
  const values = answer.records.map(({ data }) => shown(record.type === 'MX' ? writeMx(data as Mx) : collapse(data as string)));
  const told = { record, observedAll: values.slice(0, mostShown), ttl, resolver };
  const alias = aliases.at(-1);
  if (outcome !== 'found') {
    if (alias !== undefined) return { ...told, outcome: 'mismatch', observed: `CNAME ${shown(alias)}`, reason: 'cname_conflict' };
    return { ...told, outcome: 'missing', reason: outcome };
  }
  const defect = findDefect(record, answer);
  if (!defect) return { ...told, outcome: 'found' };
  if (alias !== undefined) return { ...told, outcome: 'mismatch', observed: `CNAME ${shown(alias)}`, reason: 'cname_conflict' };
  return { ...told, outcome: 'mismatch', observed: shown(defect.observed), reason: defect.reason };
}

interface Mx {
  preference: number;
  exchange: string;
}
interface Found {
  reason: Defect;
  observed: string;
}
const writeMx = ({ preference, exchange }: Mx) => `${preference} ${exchange || '.'}`;

/** Publishers wrap, indent and pad; verifiers do not mind. */
const collapse = (text: string) => text.replaceAll(/\s+/g, ' ').trim();

function findDefect(record: ExpectedRecord, { records }: DnsAnswer): Found | undefined {
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

function mxDefect({ value }: ExpectedRecord, found: Mx[]): Found | undefined {
  const others = found.filter(({ exchange }) => exchange !== value);
  if (!others.length) return undefined;
  const isOursThere = others.length < found.length;
  // Reports would reach whoever else is named, and be lost there.
  return { reason: isOursThere ? 'extra_mx' : 'wrong_value', observed: others.slice(0, mostShown).map(writeMx).join(', ') };
}

/** Mail goes to the lowest preference first: ours must stand there alone. Others behind it are for when we are away. */
function inboundDefect({ value }: ExpectedRecord, found: Mx[]): Found | undefined {
  const ours = found.filter(({ exchange }) => exchange === value).map(({ preference }) => preference);
  const others = found.filter(({ exchange, preference }) => exchange !== value && preference <= Math.min(...ours));
  if (ours.length && !others.length) return undefined;
  const inTheWay = ours.length ? others : found;
  return { reason: ours.length ? 'extra_mx' : 'wrong_value', observed: inTheWay.slice(0, mostShown).map(writeMx).join(', ') };
}

/** RFC 6376 3.6.2.2: with two records of a selector, anything may happen. */
function dkimDefect({ value }: ExpectedRecord, found: string[]): Found | undefined {
  if (found.length > 1) return { reason: 'multiple_records', observed: found.slice(0, mostShown).map(collapse).join(' | ') };
  const expected = readDkim(value);
  const published = readDkim(found[0]!);
  const isSame = expected && published && published.algorithm === expected.algorithm && published.key.equals(expected.key);
  return isSame ? undefined : { reason: 'wrong_value', observed: collapse(found[0]!) };
}

/** `v=DKIM1; k=rsa; p=…` in any order (RFC 6376 3.2, 3.6.1). Undefined: verifiers could not read it, such as a text in quotes. */
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

/** Other texts may stand beside a policy, but no second policy: then neither counts (RFC 7208 4.5, RFC 7489 6.6.3). */
function policyDefect(found: string[], begins: RegExp, isGood: (text: string) => boolean): Found | undefined {
  const texts = found.map(collapse);
  const policies = texts.filter((text) => begins.test(text));
  if (policies.length > 1) return { reason: 'multiple_records', observed: policies.slice(0, mostShown).join(' | ') };
  const policy = policies[0];
  return policy !== undefined && isGood(policy) ? undefined : { reason: 'wrong_value', observed: policy ?? texts[0]! };
}

const hostOfSpf = (value: string) => /(?<= a:)\S+/.exec(value)?.[0] ?? '';

/** The host by name; or `mx`, since the MX record of the same name is the host; or by a policy that the host itself publishes. */
function permitsHost(policy: string, host: string): boolean {
  const terms = policy.toLowerCase().split(' ').slice(1);
  const ways = new Set([`a:${host}`, `mx`, `include:${host}`, `redirect=${host}`]);
  return terms.some((term) => ways.has(term.replace(/^\+/, '').replace(/\.$/, '')));
}
