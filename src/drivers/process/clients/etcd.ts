import type { IncomingMessage } from 'node:http';
import { Agent, request } from 'node:https';
import type { Readable } from 'node:stream';
import type { EtcdKeys } from '../../keys.ts';
import type { MemberRecord } from '../rules/etcd/members.ts';
import { responseHead } from './dial.ts';
import { EtcdError } from './etcd-error.ts';
import { openSnapshot } from './etcd-snapshot.ts';

// One member of an etcd, by the HTTP gateway beside its gRPC: JSON, 64-bit numbers as text, bytes in base64. Its copies come by gRPC itself.

const limits = { timeoutMs: 5_000, answerBytes: 16 * 2 ** 20 };

/** What was asked for is forgotten already. gRPC: out of range. */
export const isCompacted = (error: unknown): boolean => error instanceof EtcdError && error.code === 11;

export interface EtcdStatus {
  memberId: string;
  /** '0': none. */
  leader: string;
  isLearner: boolean;
  revision: number;
  /** Of the raft log: what is known, and what is applied. */
  knownIndex: number;
  appliedIndex: number;
  fileBytes: number;
  usedBytes: number;
  /** Alarms and other errors, as etcd words them. */
  errors: string[];
}

export interface EtcdMember {
  id: string;
  /** '' before its first start. */
  name: string;
  peerUrl: string;
  isLearner: boolean;
}

export interface KeyRange {
  key: Buffer;
  /** Exclusive; absent: one key. */
  end?: Buffer;
  limit?: number;
  revision?: number;
  countOnly?: boolean;
  keysOnly?: boolean;
}

export interface KeyRangeAnswer {
  revision: number;
  count: number;
  pairs: { key: Buffer; value: Buffer }[];
}

export interface EtcdClient {
  status(timeoutMs?: number): Promise<EtcdStatus>;
  members(): Promise<EtcdMember[]>;
  addLearner(peerUrl: string): Promise<void>;
  /** Refused by etcd until the learner has caught up. */
  promote(id: string): Promise<void>;
  remove(id: string): Promise<void>;
  changePeerUrl(id: string, peerUrl: string): Promise<void>;
  /** Of the leader alone. */
  moveLeader(to: string): Promise<void>;
  /** The member answers nothing else meanwhile. */
  defragment(): Promise<void>;
  endSpaceAlarm(memberId: string): Promise<void>;
  /** Forgets what was before a revision. Watches and lists from before it are told so. */
  compact(revision: number): Promise<void>;
  range(range: KeyRange): Promise<KeyRangeAnswer>;
  /** At most 128 at once. */
  put(pairs: readonly { key: Buffer; value: Buffer }[]): Promise<void>;
  /** etcd's file of its data, followed by the SHA-256 of it. The stream fails if the two do not match. */
  snapshot(): Promise<Readable>;
  close(): void;
}

// biome-ignore lint/suspicious/noExplicitAny: etcd's answers, of many shapes
type Answer = any;

export function openEtcdClient(
  { gatewayPort: port, clientPort }: Pick<MemberRecord, 'gatewayPort' | 'clientPort'>,
  keys: Pick<EtcdKeys, 'authority' | 'client'>,
): EtcdClient {
  const { authority, client } = keys;
  const agent = new Agent({ keepAlive: true, ca: authority.certificate, cert: client.certificate, key: client.key, maxFreeSockets: 2 });
  const dial = (path: string, body: object, signal: AbortSignal) => {
    const text = JSON.stringify(body);
    const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) };
    const asked = request({ host: '127.0.0.1', port, agent, method: 'POST', path, headers, signal });
    asked.on('error', () => {});
    asked.end(text);
    return asked;
  };
  const ask = async (path: string, body: object = {}, timeoutMs = limits.timeoutMs): Promise<Answer> => {
    const answer = await responseHead(dial(path, body, AbortSignal.timeout(timeoutMs)));
    return readJson(answer);
  };
  return {
    status: async (timeoutMs) => statusOf(await ask('/v3/maintenance/status', {}, timeoutMs)),
    members: async () => listOf((await ask('/v3/cluster/member/list', { linearizable: true })).members).map(memberOf),
    addLearner: (peerUrl) => ask('/v3/cluster/member/add', { peerURLs: [peerUrl], isLearner: true }),
    promote: (id) => ask('/v3/cluster/member/promote', { ID: id }),
    remove: (id) => ask('/v3/cluster/member/remove', { ID: id }, 15_000),
    changePeerUrl: (id, peerUrl) => ask('/v3/cluster/member/update', { ID: id, peerURLs: [peerUrl] }),
    moveLeader: (to) => ask('/v3/maintenance/transfer-leadership', { targetID: to }, 15_000),
    defragment: () => ask('/v3/maintenance/defragment', {}, 600_000),
    endSpaceAlarm: (memberID) => ask('/v3/maintenance/alarm', { action: 'DEACTIVATE', memberID, alarm: 'NOSPACE' }),
    compact: (revision) => ask('/v3/kv/compaction', { revision, physical: true }, 60_000),
    range: async (range) => rangeOf(await ask('/v3/kv/range', rangeRequest(range))),
    put: (pairs) => ask('/v3/kv/txn', { success: pairs.map(putRequest) }, 30_000),
    snapshot: () => openSnapshot(clientPort, keys),
    close: () => agent.destroy(),
  };
}

async function readJson(answer: IncomingMessage): Promise<Answer> {
  answer.on('error', () => {});
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of answer) {
    bytes += chunk.length;
    if (bytes > limits.answerBytes) throw new EtcdError('the answer is too large', 8);
    chunks.push(chunk);
  }
  const found = parseOr(Buffer.concat(chunks).toString());
  if (answer.statusCode === 200 && found !== undefined) return found;
  throw errorOf(found, `status ${answer.statusCode}`);
}

function parseOr(text: string): Answer {
  try {
    const found = JSON.parse(text);
    return typeof found === 'object' && found !== null ? found : undefined;
  } catch {
    return undefined;
  }
}

const errorOf = (found: Answer, otherwise: string): EtcdError =>
  new EtcdError(String(found?.message ?? found?.error ?? otherwise).slice(0, 500), Number(found?.code ?? 2));

/** Zeros are left out. */
const count = (value: unknown): number => Number(value ?? 0);
const text = (value: unknown): string => String(value ?? '0');
const listOf = (value: unknown): Answer[] => (Array.isArray(value) ? value : []);

const statusOf = (found: Answer): EtcdStatus => ({
  memberId: text(found.header?.member_id),
  leader: text(found.leader),
  isLearner: found.isLearner === true,
  revision: count(found.header?.revision),
  knownIndex: count(found.raftIndex),
  appliedIndex: count(found.raftAppliedIndex),
  fileBytes: count(found.dbSize),
  usedBytes: count(found.dbSizeInUse),
  errors: listOf(found.errors).map(String),
});

const memberOf = (found: Answer): EtcdMember => ({
  id: text(found.ID),
  name: typeof found.name === 'string' ? found.name : '',
  peerUrl: String(listOf(found.peerURLs)[0] ?? ''),
  isLearner: found.isLearner === true,
});

const rangeRequest = ({ key, end, limit, revision, countOnly, keysOnly }: KeyRange) => ({
  key: key.toString('base64'),
  ...(end ? { range_end: end.toString('base64') } : {}),
  ...(limit ? { limit } : {}),
  ...(revision ? { revision } : {}),
  ...(countOnly ? { count_only: true } : {}),
  ...(keysOnly ? { keys_only: true } : {}),
});

const rangeOf = (found: Answer): KeyRangeAnswer => ({
  revision: count(found.header?.revision),
  count: count(found.count),
  pairs: listOf(found.kvs).map(({ key = '', value = '' }) => ({ key: Buffer.from(key, 'base64'), value: Buffer.from(value, 'base64') })),
});

const putRequest = ({ key, value }: { key: Buffer; value: Buffer }) => ({
  requestPut: { key: key.toString('base64'), value: value.toString('base64') },
});
