import { currentContext, makeFairSemaphore } from '../fairness/index.ts';
import { type Allow, allowNothing, unlessAborted } from '../guard/index.ts';
import { queryAtSource } from './authoritative.ts';
import { makeDnsCache } from './cache.ts';
import { nameOf, type Question } from './message.ts';
import { type QueryOptions, resolveName } from './query.ts';
import { findServers } from './servers.ts';
import type { DnsAnswer, DnsType } from './types.ts';

/** DNS lookups. Failures are outcomes; the only exception is the reason of an aborted `signal`. */
export interface Dns {
  /** `atOnce`: fail instead of waiting when the organization's queries are used up. */
  lookup(name: string, type: DnsType, options?: { signal?: AbortSignal; atOnce?: boolean }): Promise<DnsAnswer>;
  /** The same, from the zone's own name servers, so that no cache delays a change. Falls back to the resolver if they do not answer. */
  lookupAtSource(name: string, type: DnsType, options?: { signal?: AbortSignal }): Promise<DnsAnswer>;
}

export interface DnsOptions {
  /** Addresses with ports. None means the system's servers, whose DNSSEC result is not trusted. */
  servers?: readonly string[];
  /** Private addresses that the name servers of zones may have. */
  allow?: Allow;
  /** For tests: the port of name servers, and the timeouts. */
  sourcePort?: number;
  attemptMs?: number;
  timeoutMs?: number;
}

const rounds = 2;

export function makeDns({
  servers = [],
  allow = allowNothing,
  sourcePort = 53,
  attemptMs = 2_000,
  timeoutMs = 8_000,
}: DnsOptions = {}): Dns {
  const resolvers = findServers(servers);
  const isTrusted = servers.length > 0;
  const cached = makeDnsCache();
  const inFlight = makeFairSemaphore({ slots: 256, perOrg: 128, maxWaitingPerOrg: 2_000, waitMs: timeoutMs });

  const resolve = (question: Question, { signal, atOnce }: Pick<QueryOptions, 'signal' | 'atOnce'>) => {
    const options: QueryOptions = {
      servers: resolvers(),
      recursive: true,
      rounds,
      attemptMs,
      deadline: performance.now() + timeoutMs,
      inFlight,
      signal,
      atOnce,
    };
    return resolveName(question, options, isTrusted);
  };
  /** Other callers may wait for the same answer, so one caller's signal does not end the query. */
  const lookup = (question: Question, atOnce?: boolean) =>
    cached(`${question.type} ${question.name}`, () => resolve(question, { atOnce }), currentContext().org);

  const lookupAtSource = async (question: Question, signal: AbortSignal | undefined) => {
    const find = (name: string, type: DnsType) => lookup({ name, type });
    return (await queryAtSource(question, { lookup: find, allow, port: sourcePort, inFlight, signal })) ?? resolve(question, { signal });
  };

  const ask = async (text: string, type: DnsType, signal: AbortSignal | undefined, find: (q: Question) => Promise<DnsAnswer>) => {
    const name = nameOf(text);
    if (name === undefined) return noSuchName;
    return signal ? unlessAborted(signal, () => find({ name, type })) : find({ name, type });
  };
  return {
    lookup: (name, type, { signal, atOnce } = {}) => ask(name, type, signal, (question) => lookup(question, atOnce)),
    lookupAtSource: (name, type, { signal } = {}) => ask(name, type, signal, (question) => lookupAtSource(question, signal)),
  };
}

/** The answer for text that cannot be a DNS name. */
const noSuchName: DnsAnswer = { outcome: 'nxdomain', records: [], aliases: [], ttl: 300, authentic: false, server: '' };

export type { DnsAnswer, DnsRecord, DnsType } from './types.ts';
