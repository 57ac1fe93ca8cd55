import type { FairSemaphore } from '../fairness/index.ts';
import { type Allow, decide } from '../guard/index.ts';
import { askServers, followAliases } from './ask.ts';
import type { DnsAnswer, DnsType } from './index.ts';
import type { Question } from './message.ts';
import type { Server } from './transport.ts';

export interface Sources {
  lookup(name: string, type: DnsType): Promise<DnsAnswer>;
  allow: Allow;
  port: number;
  turns: FairSemaphore;
  signal?: AbortSignal | undefined;
}

/** A record is at most this many labels below its zone; zones further up are not queried. */
const mostSteps = 8;
const mostServers = 3;
const sourceMs = 3_000;
const tryMs = 1_000;

/** The answer of one of the zone's own name servers. Undefined for anything unusual: the resolver handles it. */
export async function askSource(question: Question, sources: Sources): Promise<DnsAnswer | undefined> {
  const names = await findNameServers(question.name, sources);
  const servers = await findAddresses(names, sources);
  if (!servers.length) return undefined;
  const until = performance.now() + sourceMs;
  const asked = await askServers(question, {
    servers,
    recursive: false,
    tries: 1,
    tryMs,
    until,
    turns: sources.turns,
    signal: sources.signal,
  });
  if ('failure' in asked || !asked.reply.isAuthoritative) return undefined;
  const { reply, server } = asked;
  const { records, aliases, ttl, isEndless } = followAliases(reply, question);
  const told = { records, aliases, authentic: false, server: server.text };
  if (records.length) return { outcome: 'found', ttl, ...told };
  // An alias may lead to another zone, which this server does not serve.
  if (isEndless || aliases.length) return undefined;
  return { outcome: reply.rcode === 'NXDOMAIN' ? 'nxdomain' : 'nodata', ttl: reply.absentTtl ?? 0, ...told };
}

/** The name servers of the closest zone above, but never of a top-level domain. */
async function findNameServers(name: string, { lookup, signal }: Sources): Promise<string[]> {
  const labels = name.split('.');
  for (let step = 0; step < mostSteps && labels.length - step >= 2; step++) {
    if (signal?.aborted) return [];
    const { outcome, records, aliases } = await lookup(labels.slice(step).join('.'), 'NS');
    if (outcome === 'servfail' || outcome === 'timeout') return [];
    if (records.length && !aliases.length) return records.map(({ data }) => data as string);
  }
  return [];
}

/** Users choose their name servers, so each address is checked like any other outbound target. */
async function findAddresses(names: string[], { lookup, allow, port }: Sources): Promise<Server[]> {
  const asked = names.slice(0, mostServers).flatMap((name) => [lookup(name, 'A'), lookup(name, 'AAAA')]);
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
    .slice(0, mostServers);
}
