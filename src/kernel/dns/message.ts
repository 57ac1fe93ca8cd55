import * as packet from 'dns-packet';
import type { DnsRecord, DnsType } from './types.ts';

export interface Question {
  name: string;
  type: DnsType;
}

/** The parts of a server's reply that Quarterdeck uses. */
export interface Reply {
  rcode: string;
  isTruncated: boolean;
  /** From a name server of the zone itself. */
  isAuthoritative: boolean;
  /** The server says that DNSSEC validated it. */
  isAuthentic: boolean;
  records: DnsRecord[];
  /** Seconds for which a negative answer is valid; absent if the reply does not say (RFC 2308 5). */
  negativeTtl: number | undefined;
}

const knownTypes: ReadonlySet<string> = new Set(['A', 'AAAA', 'MX', 'TXT', 'NS', 'CNAME', 'TLSA', 'PTR'] satisfies DnsType[]);

/** An honest reply has a handful; the library would allocate as many as a header claims. */
const maxRecords = 256;

/** Lower case, without the trailing dot; undefined if it cannot be a DNS name. */
export function nameOf(text: string): string | undefined {
  const name = text.toLowerCase().replace(/\.$/, '');
  return name.length <= 253 && /^[\x21-\x2d\x2f-\x7e]{1,63}(\.[\x21-\x2d\x2f-\x7e]{1,63})*$/.test(name) ? name : undefined;
}

/** AD asks the resolver whether it validated (RFC 6840 5.7), DO for the records that prove it. */
export function encodeQuery(id: number, { name, type }: Question, { recursive, edns }: { recursive: boolean; edns: boolean }): Buffer {
  const opt = { type: 'OPT', name: '.', udpPayloadSize: 1232, flags: packet.DNSSEC_OK, options: [] } as unknown as packet.OptAnswer;
  return packet.encode({
    type: 'query',
    id,
    flags: (recursive ? packet.RECURSION_DESIRED : 0) | packet.AUTHENTIC_DATA,
    questions: [{ name, type }],
    additionals: edns ? [opt] : [],
  });
}

/** Undefined: not an answer to this question, or unreadable. */
export function decodeReply(bytes: Buffer, id: number, question: Question): Reply | undefined {
  if (bytes.length < 12 || bytes.readUInt16BE(0) !== id || countRecords(bytes) > maxRecords) return undefined;
  try {
    return readReply(packet.decode(bytes) as packet.DecodedPacket & { rcode: string; opcode: string }, question);
  } catch {
    return undefined;
  }
}

const countRecords = (bytes: Buffer) => [4, 6, 8, 10].reduce((sum, at) => sum + bytes.readUInt16BE(at), 0);

function readReply(message: packet.DecodedPacket & { rcode: string; opcode: string }, question: Question): Reply | undefined {
  const { questions = [], answers = [], authorities = [], rcode } = message;
  if (!message.flag_qr || message.opcode !== 'QUERY') return undefined;
  const refusesToRead = questions.length === 0 && rcode !== 'NOERROR' && rcode !== 'NXDOMAIN';
  if (!refusesToRead && !(questions.length === 1 && asksFor(questions[0]!, question))) return undefined;
  return {
    rcode,
    isTruncated: message.flag_tc,
    isAuthoritative: message.flag_aa,
    isAuthentic: message.flag_ad,
    records: answers.flatMap(readRecord),
    negativeTtl: negativeTtlOf(authorities),
  };
}

const asksFor = (asked: packet.Question, { name, type }: Question) =>
  asked.type === type && asked.name.toLowerCase() === name && asked.class === 'IN';

function readRecord(answer: packet.Answer): DnsRecord[] {
  const { name, type, class: of, ttl, data } = answer as packet.BaseAnswer<string, unknown>;
  if (of !== 'IN' || !knownTypes.has(type)) return [];
  return [{ type: type as DnsType, name: name.toLowerCase(), ttl: clampTtl(ttl ?? 0), data: readData(type as DnsType, data) }];
}

function readData(type: DnsType, data: unknown): unknown {
  if (type === 'TXT') return Buffer.concat(data as Buffer[]).toString('utf8');
  if (type === 'MX') {
    const { preference = 0, exchange } = data as packet.MxData;
    return { preference, exchange: exchange.toLowerCase() };
  }
  // Copied, because the library's slice would keep the whole message in memory.
  if (type === 'TLSA') return { ...(data as packet.TlsaData), certificate: Buffer.from((data as packet.TlsaData).certificate) };
  return (data as string).toLowerCase();
}

function negativeTtlOf(authorities: packet.Answer[]): number | undefined {
  const soa = authorities.find((answer) => answer.type === 'SOA') as packet.SoaAnswer | undefined;
  return soa && clampTtl(Math.min(soa.ttl ?? 0, soa.data.minimum ?? 0));
}

/** RFC 2181 8: the upper half counts as zero. The limit of a day bounds the effect of a wrong TTL. */
const clampTtl = (seconds: number) => (seconds >= 2 ** 31 ? 0 : Math.min(seconds, 86_400));
