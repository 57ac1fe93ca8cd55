import { createSocket, type RemoteInfo } from 'node:dgram';
import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import type { TestContext } from 'node:test';
import * as packet from 'dns-packet';

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
  const { tcp, udp, port } = await listenOnBoth();
  const fake: FakeDns = { address: `127.0.0.1:${port}`, port, zone, asked: [], manner };
  const open = new Set<Socket>();
  udp.on('message', (message, from: RemoteInfo) => {
    for (const reply of repliesTo(fake, message, 'udp')) udp.send(reply, from.port, from.address);
  });
  tcp.on('connection', (socket: Socket) => {
    open.add(socket);
    socket.on('close', () => open.delete(socket)).on('error', () => {});
    speakTcp(fake, socket);
  });
  t.after(() => {
    udp.close();
    tcp.close();
    for (const socket of open) socket.destroy();
  });
  return fake;
}

/** The same port for both; another program may have one of them. */
async function listenOnBoth(): Promise<{ tcp: Server; udp: ReturnType<typeof createSocket>; port: number }> {
  for (let tries = 0; tries < 20; tries++) {
    const tcp = createServer().listen(0, '127.0.0.1');
    await once(tcp, 'listening');
    const { port } = tcp.address() as AddressInfo;
    const udp = createSocket('udp4');
    const isBound = await new Promise<boolean>((resolve) => {
      udp.once('error', () => resolve(false));
      udp.bind(port, '127.0.0.1', () => resolve(true));
    });
    if (isBound) return { tcp, udp, port };
    tcp.close();
  }
  throw new Error('no port is free for both UDP and TCP');
}

function speakTcp(fake: FakeDns, socket: Socket) {
  let buffered = Buffer.alloc(0);
  socket.on('data', (chunk) => {
    buffered = Buffer.concat([buffered, chunk as Buffer]);
    while (buffered.length >= 2 && buffered.length >= 2 + buffered.readUInt16BE(0)) {
      const message = buffered.subarray(2, 2 + buffered.readUInt16BE(0));
      buffered = buffered.subarray(2 + message.length);
      for (const reply of repliesTo(fake, message, 'tcp')) {
        const size = Buffer.alloc(2);
        size.writeUInt16BE(reply.length);
        socket.write(Buffer.concat([size, reply]));
      }
    }
  });
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
