import { createWriteStream } from 'node:fs';
import { chown, mkdir, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { requireRoom, whileRoom, withRoom } from '../../../../kernel/data/disk-room.ts';
import type { Identity } from '../../../../kernel/programs/identity.ts';
import { endProcess, isRunning } from '../../../../kernel/programs/process.ts';
import { startProgram } from '../../../../kernel/programs/start.ts';
import type { EtcdPrograms, StoreContent } from '../../../driver.ts';
import type { EtcdKeys } from '../../../keys.ts';
import { type EtcdClient, openEtcdClient } from '../../clients/etcd.ts';
import { readSnapshotRevision, restoreSnapshot } from '../../clients/etcdutl.ts';
import { findLastingPorts } from '../../clients/programs.ts';
import { ownMemberDir } from '../../clients/store-directory.ts';
import { copyMs, roomForData } from '../../rules/copy-limits.ts';
import { firstMembers, type MemberRecord, peerUrlOf, portsPerMember } from '../../rules/etcd/members.ts';
import { etcdFiles } from '../../rules/files.ts';
import { etcdArguments } from '../../rules/programs.ts';

// An etcd of one member that lives as long as a piece of work: to read a backup, or to make data of objects.

export interface Scratch {
  programs: EtcdPrograms;
  keys: EtcdKeys;
  identity: Identity;
  /** Of the store that the content is of, or is for: it takes twice that. */
  quotaBytes: number;
  /** An empty directory of the server's, which the caller removes. The programs' user must be able to pass through it. */
  dir: string;
  /** Where and with what the program runs: by this a server after this one finds it. */
  cwd: string;
  env: Record<string, string>;
  /** How many more copies of it are made on that disk afterwards. */
  copies: number;
  signal: AbortSignal;
}

const limits = { startTimeoutMs: 60_000, pauseMs: 50, pairsAtOnce: 100, bytesAtOnce: 2 ** 20, bytesPerLook: 16 * 2 ** 20 };

/** Puts content into a scratch etcd, with its revisions as they are, and works with it. */
export async function withScratchEtcd<T>(
  scratch: Scratch,
  content: StoreContent | undefined,
  work: (client: EtcdClient, member: MemberRecord) => Promise<T>,
): Promise<T> {
  const { dir, identity, programs, keys, quotaBytes, cwd, env, copies, signal } = scratch;
  const { token, members } = firstMembers('scratch', 1, await findLastingPorts(portsPerMember));
  const [member] = members;
  const memberDir = join(dir, member!.name);
  await ownMemberDir(memberDir, identity.owner);
  let bytes = 0;
  if (content?.kind === 'snapshot') {
    const path = join(dir, 'snapshot.db');
    await writeCopy(path, content, copies + 1, signal);
    if (identity.owner) await chown(path, identity.owner.uid, identity.owner.gid);
    bytes = (await stat(path)).size;
    const tool = { program: programs.etcdutl, identity, cwd, signal };
    await readSnapshotRevision(tool, path);
    const restored = { ...member!, peerUrl: peerUrlOf(member!), token, dataDir: join(memberDir, 'data'), bumpRevision: 0 };
    await withRoom(dir, roomForData(bytes, 1 + copies), () => restoreSnapshot(tool, path, restored));
  }
  const keysDir = await writeKeys(join(dir, 'keys'), keys, identity);
  const args = etcdArguments({ member: member!, token, keysDir, dataDir: join(memberDir, 'data'), quotaBytes: 2 * quotaBytes });
  const started = await startProgram({ identity, program: programs.etcd, args, env, cwd, log: join(dir, 'etcd.log') });
  const client = openEtcdClient(member!, keys);
  try {
    const deadline = performance.now() + copyMs(limits.startTimeoutMs, bytes);
    while ((await client.status().catch(() => ({ leader: '0' }))).leader === '0') {
      signal.throwIfAborted();
      if (!(await isRunning(started)) || performance.now() > deadline) throw new Error('a scratch etcd did not start');
      await sleep(limits.pauseMs);
    }
    if (content?.kind === 'keys') await putAll(client, content.keys, { dir, copies, signal });
    return await work(client, member!);
  } finally {
    client.close();
    await endProcess(started, { gentleMs: 10_000 });
  }
}

async function writeKeys(dir: string, keys: EtcdKeys, { owner }: Identity): Promise<string> {
  await mkdir(dir, { mode: 0o711 });
  for (const [name, text] of Object.entries(etcdFiles(keys))) {
    await writeFile(join(dir, name), text, { mode: 0o600, flag: 'wx' });
    if (owner) await chown(join(dir, name), owner.uid, owner.gid);
  }
  return dir;
}

/** Writes a copy into a file on a disk that has room for it and for more copies. */
export async function writeCopy(
  path: string,
  { content, bytes }: { content: Readable; bytes: number | undefined },
  copies: number,
  signal: AbortSignal,
): Promise<void> {
  const dir = dirname(path);
  try {
    if (bytes !== undefined) await requireRoom(dir, bytes + roomForData(bytes, copies));
    await pipeline(whileRoom(dir, content as AsyncIterable<Buffer>, copies), createWriteStream(path, { mode: 0o600, flags: 'wx' }), {
      signal,
    });
  } finally {
    content.destroy();
  }
}

interface Putting {
  dir: string;
  copies: number;
  signal: AbortSignal;
}

async function putAll(
  client: EtcdClient,
  pairs: AsyncIterable<{ key: Buffer; value: Buffer }>,
  { dir, copies, signal }: Putting,
): Promise<void> {
  let batch: { key: Buffer; value: Buffer }[] = [];
  let bytes = 0;
  let put = 0;
  let lookedAt = Number.NEGATIVE_INFINITY;
  const flush = async () => {
    if (put - lookedAt >= limits.bytesPerLook) {
      await requireRoom(dir, roomForData(limits.bytesPerLook, 1) + copies * put);
      lookedAt = put;
    }
    if (batch.length > 0) await client.put(batch);
    put += bytes;
    batch = [];
    bytes = 0;
  };
  for await (const pair of pairs) {
    signal.throwIfAborted();
    const size = pair.key.length + pair.value.length;
    if (bytes + size > limits.bytesAtOnce || batch.length >= limits.pairsAtOnce) await flush();
    batch.push(pair);
    bytes += size;
  }
  await flush();
}
