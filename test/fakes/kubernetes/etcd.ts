import { createHash } from 'node:crypto';
import { appendFileSync, mkdirSync, readFileSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import http2 from 'node:http2';
import https from 'node:https';
import type { Socket } from 'node:net';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { text as readText } from 'node:stream/consumers';
import tls from 'node:tls';
import { etcdFlags, parseFlags, refuse, requireFlag } from './flags.ts';
import type { KineAnswer, KineRequest, KineRow } from './kine.ts';
import { beginProgram } from './program.ts';

// An etcd of one member. Its HTTP gateway answers as etcd's does, as far as Quarterdeck asks, and its gRPC copies the store; to fake apiservers it
// speaks the lines of the fake kine, over TLS. Its data is a journal in its data directory. Changes of members are for the real one, in test/clients.

const flags = parseFlags(
  'etcd',
  etcdFlags,
  process.argv.slice(2).filter((flag) => !/^--?version$/.test(flag)),
);
/** A full store takes no writes while a member has an alarm, as of the last question about it. Its file is smaller once it was compacted, then defragmented. */
const room = { alarms: [] as string[], alarmsEnded: new Set<string>(), isCompacted: false, isDefragmented: false };
const sockets = new Set<Socket>();
const program = await beginProgram('etcd', () => {
  for (const socket of sockets) socket.destroy();
});

const name = requireFlag(flags, 'name');
const portOf = (flag: string) =>
  Number(
    /^https:\/\/127\.0\.0\.1:(\d+)$/.exec(requireFlag(flags, flag))?.[1] ?? refuse(`fake etcd: --${flag} must be https://127.0.0.1:…`),
  );
const ports = { client: portOf('listen-client-urls'), gateway: portOf('listen-client-http-urls'), peer: portOf('listen-peer-urls') };
if (requireFlag(flags, 'initial-cluster') !== `${name}=${requireFlag(flags, 'initial-advertise-peer-urls')}`)
  refuse('fake etcd: there is one member only');
if (requireFlag(flags, 'client-cert-auth') !== 'true' || requireFlag(flags, 'peer-client-cert-auth') !== 'true')
  refuse('fake etcd: it must ask for certificates');
for (const file of ['peer-cert-file', 'peer-key-file', 'peer-trusted-ca-file']) readFileSync(requireFlag(flags, file));
const secure = {
  cert: readFileSync(requireFlag(flags, 'cert-file')),
  key: readFileSync(requireFlag(flags, 'key-file')),
  ca: readFileSync(requireFlag(flags, 'trusted-ca-file')),
  requestCert: true,
  rejectUnauthorized: true,
};

const wal = join(requireFlag(flags, 'data-dir'), 'member', 'wal');
mkdirSync(wal, { recursive: true, mode: 0o700 });
const journal = join(wal, 'journal');

interface Entry {
  key: string;
  value: string | null;
  /** Of one that is removed. */
  old?: string | null;
  revision: number;
  isNew: boolean;
}
let log: Entry[] = [];
let revision = 1;
const present = new Map<string, Entry>();
let bytes = 4_096;
appendFileSync(journal, '', { mode: 0o600 });
for (const line of readFileSync(journal, 'utf8').split('\n')) if (line) keep(JSON.parse(line) as Entry);

function keep(entry: Entry): void {
  log.push(entry);
  log = log.slice(-10_000);
  revision = entry.revision;
  bytes += entry.key.length + (entry.value?.length ?? 0);
  if (entry.value === null) present.delete(entry.key);
  else present.set(entry.key, entry);
}

const rowOf = ({ key, value, old, revision: at, isNew }: Entry): KineRow => ({
  key,
  value: value ?? old ?? '',
  revision: at,
  isNew,
  isGone: value === null,
});

function write({ key = '', value = null, expected }: Pick<KineRequest, 'key' | 'value' | 'expected'>): Omit<KineAnswer, 'id'> {
  const before = present.get(key);
  if (expected !== undefined && (before?.revision ?? 0) !== expected) return { isConflict: true, rows: before ? [rowOf(before)] : [] };
  const old = value === null ? { old: before?.value ?? null } : {};
  const entry: Entry = { key, value: value ?? null, ...old, revision: revision + 1, isNew: !before };
  appendFileSync(journal, `${JSON.stringify(entry)}\n`); // before anybody hears of it
  keep(entry);
  for (const watch of watches) watch(entry);
  return { revision, rows: [rowOf(entry)] };
}

const watches = new Set<(entry: Entry) => void>();

function serve(socket: Socket): void {
  const own = new Map<number, (entry: Entry) => void>();
  const tell = (answer: KineAnswer) => socket.write(`${JSON.stringify(answer)}\n`);
  const lines = createInterface({ input: socket });
  lines.on('error', () => {});
  lines.on('line', (line) => {
    const request = JSON.parse(line) as KineRequest;
    const { id, op, key = '', from = 0 } = request;
    if (op === 'watch') {
      const watch = (entry: Entry) => void (entry.key.startsWith(key) && tell({ id, rows: [rowOf(entry)] }));
      for (const entry of log) if (entry.revision > from) watch(entry);
      own.set(id, watch);
      return void watches.add(watch);
    }
    if (op === 'unwatch') return void watches.delete(own.get(id)!);
    const isRefused = room.alarms.length > 0 && typeof request.value === 'string';
    if (op === 'write') return void tell({ id, ...(isRefused ? { error: 'etcdserver: mvcc: database space exceeded' } : write(request)) });
    const found = [...present.values()].filter((entry) => (op === 'list' ? entry.key.startsWith(key) : entry.key === key));
    tell({ id, revision, rows: found.map(rowOf) });
  });
  socket.on('error', () => {});
  socket.on('close', () => {
    for (const watch of own.values()) watches.delete(watch);
  });
}

const memberId = String(BigInt(`0x${createHash('sha256').update(name).digest('hex').slice(0, 15)}`));
const header = () => ({ cluster_id: '1', member_id: memberId, revision: String(revision), raft_term: '2' });
const decoded = (text: unknown) => Buffer.from(String(text ?? ''), 'base64').toString();
const encoded = (text: string) => Buffer.from(text).toString('base64');

// biome-ignore lint/suspicious/noExplicitAny: the gateway's bodies, of many shapes
type Body = any;

const answers: Record<string, (body: Body) => Promise<object> | object> = {
  '/v3/maintenance/status': async () => {
    const { storeBytes } = await program.misbehaviour();
    const size = room.isDefragmented ? bytes : (storeBytes ?? bytes);
    return {
      header: header(),
      version: '3.6.16',
      dbSize: String(size),
      dbSizeInUse: String(room.isCompacted ? bytes : size),
      leader: memberId,
      raftIndex: String(revision),
      raftAppliedIndex: String(revision),
      raftTerm: '2',
      ...(room.alarms.length > 0 ? { errors: room.alarms.map((id) => `memberID:${id} alarm:NOSPACE `) } : {}),
    };
  },
  '/v3/cluster/member/list': () => ({
    header: header(),
    members: [{ ID: memberId, name, peerURLs: [`https://127.0.0.1:${ports.peer}`], clientURLs: [`https://127.0.0.1:${ports.client}`] }],
  }),
  '/v3/kv/range': (body) => {
    const [first, end] = [decoded(body.key), decoded(body.range_end)];
    const found = [...present.values()].filter(({ key }) => (end === '' ? key === first : key >= first && key < end));
    const kvs = body.count_only ? [] : found.map(({ key, value }) => ({ key: encoded(key), value: encoded(value!) }));
    return { header: header(), count: String(found.length), ...(kvs.length > 0 ? { kvs } : {}) };
  },
  '/v3/kv/compaction': () => {
    room.isCompacted = true;
    return { header: header() };
  },
  '/v3/maintenance/defragment': () => {
    room.isDefragmented = room.isCompacted;
    return { header: header() };
  },
  '/v3/maintenance/alarm': ({ memberID }) => {
    room.alarmsEnded.add(memberID);
    return { header: header() };
  },
};

async function serveGateway(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const body = JSON.parse((await readText(request)) || '{}');
  const { isFull, isMute, formerMember } = await program.misbehaviour();
  // Also one that has left has an alarm until it is ended.
  room.alarms = isFull ? [memberId, ...(formerMember ? [formerMember] : [])].filter((id) => !room.alarmsEnded.has(id)) : [];
  if (isMute) return; // a member that is stuck
  const answer = answers[request.url!];
  response.writeHead(answer ? 200 : 501, { 'content-type': 'application/json' });
  response.end(JSON.stringify(answer ? await answer(body) : { code: 12, message: `the fake etcd does not know ${request.url}` }));
}

function varintOf(value: number): number[] {
  return value < 128 ? [value] : [(value % 128) + 128, ...varintOf(Math.floor(value / 128))];
}

/** `SnapshotResponse` with `remaining_bytes` and `blob`, after gRPC's prefix. */
function snapshotMessage(remaining: number, blob: Buffer): Buffer {
  const fields = Buffer.concat([Buffer.from([0x10, ...varintOf(remaining), 0x1a, ...varintOf(blob.length)]), blob]);
  const prefix = Buffer.alloc(5);
  prefix.writeUInt32BE(fields.length, 1);
  return Buffer.concat([prefix, fields]);
}

async function serveSnapshot(stream: http2.ServerHttp2Stream, path: string | undefined): Promise<void> {
  const { cutSnapshot } = await program.misbehaviour();
  stream.on('error', () => {});
  if (path !== '/etcdserverpb.Maintenance/Snapshot') {
    const refusal = { 'grpc-status': '12', 'grpc-message': `the fake etcd does not know ${path}` };
    return stream.respond({ ':status': 200, 'content-type': 'application/grpc', ...refusal }, { endStream: true });
  }
  const content = readFileSync(journal);
  const whole = Buffer.concat([content, createHash('sha256').update(content).digest()]);
  stream.respond({ ':status': 200, 'content-type': 'application/grpc' }, { waitForTrailers: true });
  stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }));
  for (let at = 0; at < whole.length; at += 32_768) {
    if (cutSnapshot && at + 32_768 >= whole.length) break;
    const blob = whole.subarray(at, at + 32_768);
    stream.write(snapshotMessage(whole.length - at - blob.length, blob));
  }
  stream.end();
}

/** gRPC, or what fake apiservers speak. */
function serveClient(socket: tls.TLSSocket): void {
  if (socket.alpnProtocol !== 'h2') {
    serve(socket);
    return;
  }
  const session = http2.performServerHandshake(socket);
  session.on('error', () => {});
  session.on('stream', (stream, headers) => void serveSnapshot(stream, headers[':path']));
}

const cannotListen = (error: Error) => refuse(`{"level":"fatal","msg":"discovery failed","error":"${error.message}"}`);
const servers: tls.Server[] = [
  tls.createServer({ ...secure, ALPNProtocols: ['h2'] }, serveClient).listen(ports.client, '127.0.0.1'),
  https.createServer(secure, (request, response) => void serveGateway(request, response)).listen(ports.gateway, '127.0.0.1'),
  tls.createServer(secure, () => {}).listen(ports.peer, '127.0.0.1'),
];
for (const server of servers) {
  server.on('error', cannotListen);
  server.on('tlsClientError', () => {});
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
    socket.on('close', () => sockets.delete(socket));
  });
}
