import { currentContext, makeFairSemaphore } from '../fairness/index.ts';
import { type Allow, nothing, unlessAborted } from '../guard/index.ts';
import { type Asking, resolveName } from './ask.ts';
import { makeDnsCache } from './cache.ts';
import { nameOf, type Question } from './message.ts';
import { findServers } from './servers.ts';
import { askSource } from './source.ts';

/** What the DNS says of one name and type. */
export type DnsType = 'A' | 'AAAA' | 'MX' | 'TXT' | 'NS' | 'CNAME' | 'TLSA' | 'PTR';

export interface DnsRecord {
  type: DnsType;
  name: string;
  ttl: number;
  /** MX: { preference, exchange }; TXT: the joined text; TLSA: { usage, selector, matchingType, certificate: Buffer }; else the name or address. */
  data: unknown;
}

export interface DnsAnswer {
  /** `nodata`: the name exists, but has no record of this type. */
  outcome: 'found' | 'nxdomain' | 'nodata' | 'servfail' | 'timeout';
  /** Of the type that was asked for, behind whatever CNAMEs led there. */
  records: DnsRecord[];
  /** Names that CNAMEs led through. */
  aliases: string[];
  /** Seconds for which it may be believed, also that there is nothing. */
  ttl: number;
  /** The resolver vouches for it by DNSSEC, and is one that the operator configured. */
  authentic: boolean;
  /** Which server answered. */
  server: string;
  /** Whoever asks has as many questions under way as one may have: this one never left, or too late. It says nothing of the name. */
  isCrowded?: true;
}

/** Asks the DNS. Throws nothing but what `signal` is aborted with: whatever goes wrong is an outcome. */
export interface Dns {
  /** `atOnce`: whoever has used up their questions does not wait for one of them to be answered. */
  lookup(name: string, type: DnsType, options?: { signal?: AbortSignal; atOnce?: boolean }): Promise<DnsAnswer>;
  /** The same, at the name servers of the zone itself, so that nobody waits for a cache; through the resolver where they do not answer. */
  lookupAtSource(name: string, type: DnsType, options?: { signal?: AbortSignal }): Promise<DnsAnswer>;
}

export interface DnsOptions {
  /** Addresses with ports; none means the system's, which are not believed to vouch for anything. */
  servers?: readonly string[];
  /** Which private addresses the name servers of zones may have. */
  allow?: Allow;
  /** For tests: where name servers listen, and how patient we are. */
  sourcePort?: number;
  tryMs?: number;
  mostMs?: number;
}

const tries = 2;

export function makeDns({ servers = [], allow = nothing, sourcePort = 53, tryMs = 2_000, mostMs = 8_000 }: DnsOptions = {}): Dns {
  const resolvers = findServers(servers);
  const isTrusted = servers.length > 0;
  const remember = makeDnsCache();
  const turns = makeFairSemaphore({ slots: 256, perOrg: 128, maxWaitingPerOrg: 2_000, waitMs: mostMs });

  const resolve = (question: Question, { signal, atOnce }: Pick<Asking, 'signal' | 'atOnce'>) => {
    const asking: Asking = {
      servers: resolvers(),
      recursive: true,
      tries,
      tryMs,
      until: performance.now() + mostMs,
      turns,
      signal,
      atOnce,
    };
    return resolveName(question, asking, isTrusted);
  };
  /** Others may wait for the same answer: nobody's signal ends it for them. */
  const lookup = (question: Question, atOnce?: boolean) =>
    remember(`${question.type} ${question.name}`, () => resolve(question, { atOnce }), currentContext().org);

  const lookupAtSource = async (question: Question, signal: AbortSignal | undefined) => {
    const find = (name: string, type: DnsType) => lookup({ name, type });
    return (await askSource(question, { lookup: find, allow, port: sourcePort, turns, signal })) ?? resolve(question, { signal });
  };

  const ask = async (text: string, type: DnsType, signal: AbortSignal | undefined, find: (q: Question) => Promise<DnsAnswer>) => {
    const name = nameOf(text);
    if (name === undefined) return impossible;
    return signal ? unlessAborted(signal, () => find({ name, type })) : find({ name, type });
  };
  return {
    lookup: (name, type, { signal, atOnce } = {}) => ask(name, type, signal, (question) => lookup(question, atOnce)),
    lookupAtSource: (name, type, { signal } = {}) => ask(name, type, signal, (question) => lookupAtSource(question, signal)),
  };
}

/** Of what cannot be a name. */
const impossible: DnsAnswer = { outcome: 'nxdomain', records: [], aliases: [], ttl: 300, authentic: false, server: '' };
