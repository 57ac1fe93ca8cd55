import type { TestContext } from 'node:test';
import type { Dns, DnsAnswer, DnsRecord, DnsType } from '../../../../../kernel/dns/index.ts';
import { makeGuard, parseAllow } from '../../../../../kernel/guard/index.ts';
import { names } from '../../../../../kernel/guard/test/internet.ts';
import { makeLog } from '../../../../../kernel/log.ts';
import type { Outgoing } from '../../engine/outgoing.ts';
import type { Clock } from '../../engine/sending/clock.ts';
import { makeSender, type SenderOptions } from '../../engine/sending/index.ts';

/** What one name says of one type: its data, or how it fails. */
export type Zone = Record<
  string,
  Partial<Record<DnsType, unknown[] | 'nxdomain' | 'servfail' | 'timeout'>> & { ttl?: number; authentic?: boolean }
>;

export const mx = (...hosts: (string | [number, string])[]) =>
  hosts.map((host) => (typeof host === 'string' ? { preference: 10, exchange: host } : { preference: host[0], exchange: host[1] }));

/** A DNS in memory, which counts what it is asked. */
export function memoryDns(zone: Zone): Dns & { asked: string[] } {
  const asked: string[] = [];
  const lookup = async (name: string, type: DnsType): Promise<DnsAnswer> => {
    asked.push(`${type} ${name}`);
    const base = { aliases: [], ttl: zone[name]?.ttl ?? 300, authentic: zone[name]?.authentic ?? false, server: 'memory' };
    const found = zone[name]?.[type];
    if (typeof found === 'string') return { ...base, outcome: found, records: [] };
    if (found === undefined) return { ...base, outcome: zone[name] ? 'nodata' : 'nxdomain', records: [] };
    const records = found.map((data): DnsRecord => ({ type, name, ttl: base.ttl, data }));
    return { ...base, outcome: 'found', records };
  };
  return { asked, lookup, lookupAtSource: lookup };
}

/** A clock that stands until it is moved. */
export function stoppedClock(): Clock & { advance(ms: number): void } {
  let now = 1_000_000;
  const timers = new Set<{ at: number; then: () => void }>();
  return {
    now: () => now,
    after: (ms, then) => {
      const timer = { at: now + ms, then };
      timers.add(timer);
      return () => timers.delete(timer);
    },
    advance: (ms) => {
      const until = now + ms;
      for (;;) {
        const [next] = [...timers].filter(({ at }) => at <= until).sort((a, b) => a.at - b.at);
        if (next === undefined) break;
        timers.delete(next);
        now = next.at;
        next.then();
      }
      now = until;
    },
  };
}

const allHosts = (zone: Zone) =>
  Object.values(zone)
    .flatMap(({ MX }) => (Array.isArray(MX) ? (MX as { exchange: string }[]) : []))
    .map(({ exchange }) => exchange);

/** A sender in a world of these zones, in which every mail server is on loopback, at `port`. */
export function mailWorld(
  t: TestContext,
  port: number,
  zone: Zone,
  options: Partial<SenderOptions> & { addresses?: Record<string, string[]> } = {},
) {
  const dns = memoryDns(zone);
  const addresses = {
    ...Object.fromEntries([...Object.keys(zone), ...allHosts(zone)].map((name) => [name, ['127.0.0.1']])),
    ...options.addresses,
  };
  const guard = makeGuard({ allow: parseAllow('mx=127.0.0.0/8'), resolver: names(addresses) });
  const sender = makeSender({ guard, dns, log: makeLog('silent'), hostname: 'out.example.com', port, random: () => 0.5, ...options });
  t.after(() => sender.stop(0));
  return { sender, dns, guard };
}

let counter = 0;

export function outgoing(address: string, over: Partial<Outgoing> & { text?: string } = {}): Outgoing {
  counter += 1;
  const { text = 'Subject: hello\r\n\r\nhello\r\n', ...rest } = over;
  const body = Buffer.from(text);
  return {
    org: 'org_a',
    messageId: `msg_${counter}`,
    address,
    domain: address.slice(address.lastIndexOf('@') + 1),
    returnPath: `b+${counter}@bounce.example.com`,
    tries: 0,
    bytes: body.length,
    content: async () => ({ head: Buffer.from(''), body }),
    ...rest,
  };
}
