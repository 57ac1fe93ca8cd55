import type { TestContext } from 'node:test';
import * as packet from 'dns-packet';
import { listenForDns } from '../../src/try/dns-server.ts';

/** What stands at a name for a type: TXT as a string, or as its chunks; MX as { preference, exchange }; else the address or name. */
export type FakeData = string | string[] | { preference: number; exchange: string } | packet.TlsaData;
/** Instead of records. */
export type Trouble = 'servfail' | 'refused' | 'formerr' | 'silence' | 'garbage';
export type FakeName = Partial<Record<string, FakeData[] | Trouble>> | Trouble;

export interface FakeDns {
  /** For QUARTERDECK_DNS_SERVERS. */
  address: string;
  port: number;
  /** By name, in lower case. Change it at will. A name that is not here, nor above one that is, does not exist. */
  zone: Record<string, FakeName>;
  /** Every question so far, as `udp MX example.com` or `tcp …`. */
  asked: string[];
  manner: Manner;
}

interface Manner {
  ttl: number;
  absentTtl: number;
  /** Sets the AD flag, as a resolver that validated. */
  authentic: boolean;
  /** Sets the AA flag. Undefined: for questions that do not ask for recursion. */
  authoritative: boolean | undefined;
  /** Answers by UDP only up to so many bytes, and says that there is more. */
  mostUdpBytes: number;
  /** Sends so many answers with another id, or for another name, before the right one. */
  strangers: { id: number; name: number };
  /** Knows no EDNS, and answers FORMERR to it. */
  withoutEdns: boolean;
}

/** A name server on loopback by UDP and TCP (RFC 1035), both a resolver and the source of its zone. */
export async function fakeDns(t: TestContext, zone: FakeDns['zone'] = {}): Promise<FakeDns> {
  const manner: Manner = {
    ttl: 0,
    absentTtl: 0,
    authentic: false,
    authoritative: undefined,
    mostUdpBytes: 1232,
    strangers: { id: 0, name: 0 },
    withoutEdns: false,
  };
  const fake: FakeDns = { address: '', port: 0, zone, asked: [], manner };
  const { port, close } = await listenForDns((message, by) => repliesTo(fake, message, by));
  t.after(close);
  return Object.assign(fake, { address: `127.0.0.1:${port}`, port });
}

const rcodes = { servfail: 2, nxdomain: 3, refused: 5, formerr: 1 };

function repliesTo(fake: FakeDns, message: Buffer, by: 'udp' | 'tcp'): Buffer[] {
  const query = packet.decode(message);
  const question = query.questions![0]!;
  const name = question.name.toLowerCase();
  fake.asked.push(`${by} ${question.type} ${name}`);
  const { manner, zone } = fake;
  const at = zone[name];
  const there = typeof at === 'string' ? at : at?.[question.type];
  if (there === 'silence') return [];
  if (there === 'garbage') return [Buffer.concat([message.subarray(0, 2), Buffer.alloc(40, 0xff)])];
  const usesEdns = query.additionals!.length > 0;
  const trouble = manner.withoutEdns && usesEdns ? 'formerr' : typeof there === 'string' ? there : undefined;
  const answers = trouble ? [] : answersTo(fake, name, question.type);
  const exists = name in zone || Object.keys(zone).some((other) => other.endsWith(`.${name}`));
  const rcode = trouble ? rcodes[trouble as 'servfail'] : !exists ? rcodes.nxdomain : 0;
  const isAuthoritative = manner.authoritative ?? !query.flag_rd;
  const reply = packet.encode({
    type: 'response',
    id: query.id!,
    flags:
      (query.flag_rd ? packet.RECURSION_DESIRED | packet.RECURSION_AVAILABLE : 0) |
      (manner.authentic ? packet.AUTHENTIC_DATA : 0) |
      (isAuthoritative ? packet.AUTHORITATIVE_ANSWER : 0) |
      rcode,
    questions: [question],
    answers,
    authorities: answers.length || trouble ? [] : [soa(name, manner.absentTtl)],
  });
  return [...strange(fake, reply), by === 'udp' && reply.length > manner.mostUdpBytes ? truncate(reply, message) : reply];
}

const soa = (name: string, ttl: number): packet.Answer => ({
  type: 'SOA',
  name: name.split('.').slice(-2).join('.'),
  ttl,
  data: { mname: 'ns.example', rname: 'root.example', minimum: ttl },
});

/** Follows aliases as a resolver does, and ends where they go in a circle. */
function answersTo({ zone, manner: { ttl } }: FakeDns, first: string, type: string): packet.Answer[] {
  const answers: packet.Answer[] = [];
  const visited = new Set<string>();
  for (let name = first; !visited.has(name); ) {
    visited.add(name);
    const here = zone[name];
    if (here === undefined || typeof here === 'string') break;
    const records = here[type] ?? [];
    const aliases = here.CNAME ?? [];
    if (Array.isArray(records)) for (const data of records) answers.push({ type, name, ttl, data: encodable(type, data) } as never);
    if (records.length || type === 'CNAME' || !Array.isArray(aliases) || !aliases.length) break;
    answers.push({ type: 'CNAME', name, ttl, data: aliases[0] as string });
    name = (aliases[0] as string).toLowerCase();
  }
  return answers;
}

/** A text longer than a chunk can be is published in several. */
const encodable = (type: string, data: FakeData) =>
  type === 'TXT' ? (typeof data === 'string' ? (data.match(/.{1,255}/gs) ?? ['']) : [...(data as string[])]) : data;

function strange({ manner: { strangers } }: FakeDns, reply: Buffer): Buffer[] {
  const otherId = Buffer.from(reply);
  otherId.writeUInt16BE(reply.readUInt16BE(0) ^ 1, 0);
  const otherName = Buffer.from(reply);
  otherName[13] = reply[13]! ^ 2; // the first letter of the name in the question
  otherName[3] = (reply[3]! & 0xf0) | rcodes.nxdomain;
  otherName.writeUInt16BE(0, 6);
  return [...Array(strangers.id).fill(otherId), ...Array(strangers.name).fill(otherName)];
}

const truncate = (reply: Buffer, query: Buffer) => {
  const cut = Buffer.from(query);
  reply.copy(cut, 0, 0, 4);
  cut[2] = cut[2]! | 2;
  cut.writeUInt16BE(0, 10);
  return cut.subarray(0, cut.length - (query.readUInt16BE(10) ? 11 : 0));
};
