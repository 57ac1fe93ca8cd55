import { randomInt } from 'node:crypto';
import { currentContext, type FairSemaphore, TenantThrottled } from '../fairness/index.ts';
import { decodeReply, encodeQuery, type Question, type Reply } from './message.ts';
import { exchangeTcp, exchangeUdp, type Server } from './transport.ts';
import type { DnsAnswer, DnsRecord } from './types.ts';

/** The servers of a DNS query, its transport options and its deadline. */
export interface QueryOptions {
  servers: readonly Server[];
  recursive: boolean;
  rounds: number;
  attemptMs: number;
  /** By performance.now(), for all attempts together. */
  deadline: number;
  /** Queries in flight, by organization. */
  inFlight: FairSemaphore;
  signal?: AbortSignal | undefined;
  /** Fail at once if no slot is free. */
  atOnce?: boolean | undefined;
}

export type QueryResult =
  | { reply: Reply; server: Server }
  | { failure: 'servfail' | 'timeout'; server: Server | undefined; isCrowded?: true };

/**
 * Waits for a slot of its organization. A query that timed out waiting gets `isCrowded`. So does a query that waited first and then timed
 * out: the organization's own load is the reason.
 */
export async function queryServers(question: Question, options: QueryOptions): Promise<QueryResult> {
  const { org } = currentContext();
  if (options.atOnce && !options.inFlight.tryAcquire(org)) return crowded;
  const acquired = options.atOnce ? undefined : options.inFlight.acquire(org);
  try {
    await acquired;
  } catch (error) {
    if (error instanceof TenantThrottled) return crowded;
    throw error;
  }
  try {
    const result = await queryEach(question, options);
    return acquired && 'failure' in result && result.failure === 'timeout' ? { ...result, isCrowded: true } : result;
  } finally {
    options.inFlight.release(org);
  }
}

const crowded: QueryResult = { failure: 'timeout', server: undefined, isCrowded: true };

/** Tries each server in order, for several rounds, until one has an answer. */
async function queryEach(question: Question, options: QueryOptions): Promise<QueryResult> {
  let failure: 'servfail' | 'timeout' = 'timeout';
  let last: Server | undefined;
  for (let round = 0; round < options.rounds; round++)
    for (const server of options.servers) {
      if (performance.now() >= options.deadline || options.signal?.aborted) return { failure, server: last };
      const reply = await queryServer(server, question, options);
      last = server;
      if (!reply) continue;
      if (reply.rcode === 'NOERROR' || reply.rcode === 'NXDOMAIN') return { reply, server };
      failure = 'servfail';
    }
  return { failure, server: last };
}

/** Over UDP; over TCP if the reply was truncated; without EDNS for a server that does not know it. */
async function queryServer(server: Server, question: Question, options: QueryOptions): Promise<Reply | undefined> {
  const { recursive, attemptMs, deadline, signal } = options;
  const exchange = (edns: boolean, by: typeof exchangeUdp<Reply>) => {
    const id = randomInt(65_536);
    const ms = Math.min(attemptMs, deadline - performance.now());
    const read = (message: Buffer) => decodeReply(message, id, question);
    return by({ server, query: encodeQuery(id, question, { recursive, edns }), read, timeoutMs: ms, signal });
  };
  const first = await exchange(true, exchangeUdp);
  if (first?.isTruncated) return exchange(true, exchangeTcp);
  if (first?.rcode !== 'FORMERR' && first?.rcode !== 'NOTIMP') return first;
  const plain = await exchange(false, exchangeUdp);
  return plain?.isTruncated ? exchange(false, exchangeTcp) : plain;
}

const maxAliases = 8;

/** The end of the alias chain in one reply, and the records there. */
interface AliasChain {
  name: string;
  records: DnsRecord[];
  aliases: string[];
  ttl: number;
  /** A loop, or more aliases than the limit. */
  isEndless: boolean;
}

export function followAliases({ records }: Reply, { name, type }: Question, before: readonly string[] = []): AliasChain {
  const aliases = [...before];
  let at = name;
  let ttl = 86_400;
  for (;;) {
    const here = records.filter((record) => record.name === at);
    const wanted = here.filter((record) => record.type === type);
    if (wanted.length) return { name: at, records: wanted, aliases, ttl: Math.min(ttl, ...wanted.map((r) => r.ttl)), isEndless: false };
    const alias = here.find((record) => record.type === 'CNAME');
    if (!alias) return { name: at, records: [], aliases, ttl, isEndless: false };
    at = alias.data as string;
    ttl = Math.min(ttl, alias.ttl);
    if (aliases.includes(at) || aliases.length >= maxAliases) return { name: at, records: [], aliases, ttl, isEndless: true };
    aliases.push(at);
  }
}

/** The TTL of an absent record whose reply has no SOA: retried soon. */
const defaultNegativeTtl = 30;

/** Through resolvers. If a resolver does not follow an alias to its end, it is queried for the rest. */
export async function resolveName(question: Question, options: QueryOptions, isTrusted: boolean): Promise<DnsAnswer> {
  let { name } = question;
  let aliases: string[] = [];
  let authentic = isTrusted;
  let ttl = 86_400;
  for (let hop = 0; hop <= maxAliases; hop++) {
    const result = await queryServers({ ...question, name }, options);
    const server = result.server?.text ?? '';
    if ('failure' in result) {
      const { failure, isCrowded } = result;
      return { outcome: failure, records: [], aliases, ttl: 0, authentic: false, server, ...(isCrowded && { isCrowded }) };
    }
    const { reply } = result;
    const followed = followAliases(reply, { ...question, name }, aliases);
    authentic &&= reply.isAuthentic;
    ttl = Math.min(ttl, followed.ttl);
    aliases = followed.aliases;
    if (followed.isEndless) break;
    if (followed.records.length) return { outcome: 'found', records: followed.records, aliases, ttl, authentic, server };
    const isHalfWay = followed.name !== name && reply.rcode === 'NOERROR' && reply.negativeTtl === undefined;
    if (!isHalfWay) {
      const outcome = reply.rcode === 'NXDOMAIN' ? 'nxdomain' : 'nodata';
      return { outcome, records: [], aliases, ttl: Math.min(ttl, reply.negativeTtl ?? defaultNegativeTtl), authentic, server };
    }
    name = followed.name;
  }
  return { outcome: 'servfail', records: [], aliases, ttl: 0, authentic: false, server: options.servers[0]?.text ?? '' };
}
