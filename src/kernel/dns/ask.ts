import { randomInt } from 'node:crypto';
import { currentContext, type FairSemaphore, TenantThrottled } from '../fairness/index.ts';
import type { DnsAnswer, DnsRecord } from './index.ts';
import { decodeReply, encodeQuery, type Question, type Reply } from './message.ts';
import { exchangeTcp, exchangeUdp, type Server } from './transport.ts';

/** The servers of a DNS query, its transport options and its deadline. */
export interface Asking {
  servers: readonly Server[];
  recursive: boolean;
  tries: number;
  tryMs: number;
  /** By performance.now(), for all attempts together. */
  until: number;
  /** Queries in flight, by organization. */
  turns: FairSemaphore;
  signal?: AbortSignal | undefined;
  /** Fail at once if no slot is free. */
  atOnce?: boolean | undefined;
}

export type Asked = { reply: Reply; server: Server } | { failure: 'servfail' | 'timeout'; server: Server | undefined; isCrowded?: true };

/**
 * Waits for a slot of its organization. A query that timed out waiting gets `isCrowded`. So does a query that waited first and then timed
 * out: the organization's own load is the reason.
 */
export async function askServers(question: Question, asking: Asking): Promise<Asked> {
  const { org } = currentContext();
  if (asking.atOnce && !asking.turns.tryAcquire(org)) return crowded;
  const turn = asking.atOnce ? undefined : asking.turns.acquire(org);
  try {
    await turn;
  } catch (error) {
    if (error instanceof TenantThrottled) return crowded;
    throw error;
  }
  try {
    const asked = await askInTurn(question, asking);
    return turn && 'failure' in asked && asked.failure === 'timeout' ? { ...asked, isCrowded: true } : asked;
  } finally {
    asking.turns.release(org);
  }
}

const crowded: Asked = { failure: 'timeout', server: undefined, isCrowded: true };

/** Tries each server in order, for several rounds, until one has an answer. */
async function askInTurn(question: Question, asking: Asking): Promise<Asked> {
  let failure: 'servfail' | 'timeout' = 'timeout';
  let last: Server | undefined;
  for (let round = 0; round < asking.tries; round++)
    for (const server of asking.servers) {
      if (performance.now() >= asking.until || asking.signal?.aborted) return { failure, server: last };
      const reply = await askServer(server, question, asking);
      last = server;
      if (!reply) continue;
      if (reply.rcode === 'NOERROR' || reply.rcode === 'NXDOMAIN') return { reply, server };
      failure = 'servfail';
    }
  return { failure, server: last };
}

/** Over UDP; over TCP if the reply was truncated; without EDNS for a server that does not know it. */
async function askServer(server: Server, question: Question, asking: Asking): Promise<Reply | undefined> {
  const { recursive, tryMs, until, signal } = asking;
  const exchange = (edns: boolean, by: typeof exchangeUdp<Reply>) => {
    const id = randomInt(65_536);
    const ms = Math.min(tryMs, until - performance.now());
    const read = (message: Buffer) => decodeReply(message, id, question);
    return by({ server, query: encodeQuery(id, question, { recursive, edns }), read, ms, signal });
  };
  const first = await exchange(true, exchangeUdp);
  if (first?.isTruncated) return exchange(true, exchangeTcp);
  if (first?.rcode !== 'FORMERR' && first?.rcode !== 'NOTIMP') return first;
  const plain = await exchange(false, exchangeUdp);
  return plain?.isTruncated ? exchange(false, exchangeTcp) : plain;
}

const mostAliases = 8;

/** The end of the alias chain in one reply, and the records there. */
interface Followed {
  name: string;
  records: DnsRecord[];
  aliases: string[];
  ttl: number;
  /** A loop, or more aliases than the limit. */
  isEndless: boolean;
}

export function followAliases({ records }: Reply, { name, type }: Question, before: readonly string[] = []): Followed {
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
    if (aliases.includes(at) || aliases.length >= mostAliases) return { name: at, records: [], aliases, ttl, isEndless: true };
    aliases.push(at);
  }
}

/** The TTL of an absent record whose reply has no SOA: retried soon. */
const unsaidTtl = 30;

/** Through resolvers. If a resolver does not follow an alias to its end, it is queried for the rest. */
export async function resolveName(question: Question, asking: Asking, isTrusted: boolean): Promise<DnsAnswer> {
  let { name } = question;
  let aliases: string[] = [];
  let authentic = isTrusted;
  let ttl = 86_400;
  for (let hop = 0; hop <= mostAliases; hop++) {
    const asked = await askServers({ ...question, name }, asking);
    const server = asked.server?.text ?? '';
    if ('failure' in asked) {
      const { failure, isCrowded } = asked;
      return { outcome: failure, records: [], aliases, ttl: 0, authentic: false, server, ...(isCrowded && { isCrowded }) };
    }
    const { reply } = asked;
    const followed = followAliases(reply, { ...question, name }, aliases);
    authentic &&= reply.isAuthentic;
    ttl = Math.min(ttl, followed.ttl);
    aliases = followed.aliases;
    if (followed.isEndless) break;
    if (followed.records.length) return { outcome: 'found', records: followed.records, aliases, ttl, authentic, server };
    const isHalfWay = followed.name !== name && reply.rcode === 'NOERROR' && reply.absentTtl === undefined;
    if (!isHalfWay) {
      const outcome = reply.rcode === 'NXDOMAIN' ? 'nxdomain' : 'nodata';
      return { outcome, records: [], aliases, ttl: Math.min(ttl, reply.absentTtl ?? unsaidTtl), authentic, server };
    }
    name = followed.name;
  }
  return { outcome: 'servfail', records: [], aliases, ttl: 0, authentic: false, server: asking.servers[0]?.text ?? '' };
}
