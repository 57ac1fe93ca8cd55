import type { FairSemaphore } from '../fairness/index.ts';
import { type Allow, decide } from '../guard/index.ts';
import type { Question } from './message.ts';
import { followAliases, queryServers } from './query.ts';
import type { Server } from './transport.ts';
import type { DnsAnswer, DnsType } from './types.ts';

export interface SourceOptions {
  lookup(name: string, type: DnsType): Promise<DnsAnswer>;
  allow: Allow;
  port: number;
  inFlight: FairSemaphore;
  signal?: AbortSignal | undefined;
}

/** A record is at most this many labels below its zone; zones further up are not queried. */
const maxLabels = 8;
const maxServers = 3;
const timeoutMs = 3_000;
const attemptMs = 1_000;

/** The answer of one of the zone's own name servers. Undefined for anything unusual: the resolver handles it. */
export async function queryAtSource(question: Question, sources: SourceOptions): Promise<DnsAnswer | undefined> {
  const names = await findNameServers(question.name, sources);
  const servers = await findAddresses(names, sources);
  if (!servers.length) return undefined;
  const until = performance.now() + timeoutMs;
  const result = await queryServers(question, {
    servers,
    recursive: false,
    rounds: 1,
    attemptMs,
    deadline: until,
    inFlight: sources.inFlight,
    signal: sources.signal,
  });
  if ('failure' in result || !result.reply.isAuthoritative) return undefined;
  const { reply, server } = result;
  const { records, aliases, ttl, isEndless } = followAliases(reply, question);
  const common = { records, aliases, authentic: false, server: server.text };
  if (records.length) return { outcome: 'found', ttl, ...common };
  // An alias may lead to another zone, which this server does not serve.
  if (isEndless || aliases.length) return undefined;
  return { outcome: reply.rcode === 'NXDOMAIN' ? 'nxdomain' : 'nodata', ttl: reply.negativeTtl ?? 0, ...common };
}

/** The name servers of the closest zone above, but never of a top-level domain. */
async function findNameServers(name: string, { lookup, signal }: SourceOptions): Promise<string[]> {
  const labels = name.split('.');
  for (let step = 0; step < maxLabels && labels.length - step >= 2; step++) {
    if (signal?.aborted) return [];
    const { outcome, records, aliases } = await lookup(labels.slice(step).join('.'), 'NS');
    if (outcome === 'servfail' || outcome === 'timeout') return [];
    if (records.length && !aliases.length) return records.map(({ data }) => data as string);
  }
  return [];
}

/** Users choose their name servers, so each address is checked like any other outbound target. */
async function findAddresses(names: string[], { lookup, allow, port }: SourceOptions): Promise<Server[]> {
  const asked = names.slice(0, maxServers).flatMap((name) => [lookup(name, 'A'), lookup(name, 'AAAA')]);
  const answers = await Promise.all(asked);
  const addresses = answers
    .flatMap(({ records }) => records.slice(0, 1))
    .sort((a, b) => a.type.length - b.type.length)
    .map(({ data }) => data as string);
  return addresses
    .flatMap((address) => {
      const verdict = decide(allow, 'dns', address);
      return verdict.allowed ? [{ address: verdict.address.text, port, text: verdict.address.text }] : [];
    })
    .slice(0, maxServers);
}
