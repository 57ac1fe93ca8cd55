import * as packet from 'dns-packet';
import { type DnsListener, listenForDns } from './dns-server.ts';

/** A record that a domain here should publish. */
export interface ZoneRecord {
  type: 'TXT' | 'MX';
  value: string;
  priority?: number;
}

/** The records at a name that domains of this server should publish. */
export type RecordsAt = (name: string) => Promise<readonly ZoneRecord[]>;

/** The name of the mail sink. Every `.example` name has it as its mail server. */
export const sinkHost = 'mx.sink.example';

/** Short: a domain that was just registered is found by the next check. */
const ttl = 1;
const nxdomain = 3;
const maxUdpBytes = 1_232;

const isExample = (name: string) => name === 'example' || name.endsWith('.example');

/**
 * The name server of `serve --try`, as a resolver. Domains registered here publish what they should. Names below `.example` have the
 * loopback address and the mail sink; no other name exists.
 */
export const startDns = (recordsAt: RecordsAt): Promise<DnsListener> =>
  listenForDns(async (message, by) => {
    const query = packet.decode(message);
    const question = query.questions?.[0];
    if (!question) return [];
    const name = question.name.toLowerCase();
    const published = await recordsAt(name);
    const answers = answersTo(name, question.type, published);
    const reply = packet.encode({
      type: 'response',
      id: query.id ?? 0,
      flags:
        (query.flag_rd ? packet.RECURSION_DESIRED : 0) | packet.RECURSION_AVAILABLE | (published.length || isExample(name) ? 0 : nxdomain),
      questions: [question],
      answers,
      authorities: answers.length ? [] : [soa(name)],
    });
    return [by === 'udp' && reply.length > maxUdpBytes ? truncated(query.id ?? 0, question) : reply];
  });

function answersTo(name: string, type: string, published: readonly ZoneRecord[]): packet.Answer[] {
  const own = published.filter((record) => record.type === type);
  if (type === 'TXT') return own.map(({ value }) => ({ type: 'TXT', name, ttl, data: chunksOf(value) }));
  if (type === 'MX' && own.length)
    return own.map(({ value, priority = 10 }) => ({ type: 'MX', name, ttl, data: { preference: priority, exchange: value } }));
  if (!isExample(name)) return [];
  if (type === 'MX' && name !== sinkHost) return [{ type: 'MX', name, ttl, data: { preference: 10, exchange: sinkHost } }];
  if (type === 'A') return [{ type: 'A', name, ttl, data: '127.0.0.1' }];
  return [];
}

/** A TXT record holds texts of at most 255 bytes each. */
const chunksOf = (text: string): string[] => text.match(/.{1,255}/gs) ?? [''];

const soa = (name: string): packet.Answer => ({
  type: 'SOA',
  name: name.split('.').slice(-2).join('.') || '.',
  ttl,
  data: { mname: 'ns.example', rname: 'root.example', minimum: ttl },
});

/** The client asks again by TCP. */
const truncated = (id: number, question: packet.Question): Buffer =>
  packet.encode({ type: 'response', id, flags: packet.TRUNCATED_RESPONSE | packet.RECURSION_AVAILABLE, questions: [question] });
