import { once } from 'node:events';
import { stat } from 'node:fs/promises';
import { text } from 'node:stream/consumers';
import type { Identity } from '../../../kernel/programs/identity.ts';
import { copyMs } from '../rules/copy-limits.ts';

// etcd's own tool for files of etcd that no member has open.

const limits = { timeoutMs: 600_000, said: 64 * 2 ** 10 };

export interface Etcdutl {
  program: string;
  /** The user that reads and writes the files: they come from a store that a tenant fills. */
  identity: Identity;
  cwd: string;
  signal: AbortSignal;
}

/** Works on the file at `path`, by whose size it is limited. */
async function runTool({ program, identity, cwd, signal }: Etcdutl, path: string, args: string[]): Promise<string> {
  const timeout = copyMs(limits.timeoutMs, (await stat(path)).size);
  const child = identity.spawn(program, args, { cwd, stdio: ['ignore', 'pipe', 'pipe'], timeout, signal });
  const ended = once(child, 'close') as Promise<[number | null]>;
  const [said, complaint, [code]] = await Promise.all([text(child.stdout!), text(child.stderr!), ended]);
  if (code === 0) return said.slice(0, limits.said);
  const why = complaint.trim().split('\n').at(-1) ?? '';
  throw new Error(`etcdutl ${args.slice(0, 2).join(' ')} ended with status ${code}: ${why.slice(0, 500)}`);
}

/** The newest revision of a snapshot's file. Throws if the file is damaged. */
export async function readSnapshotRevision(tool: Etcdutl, path: string): Promise<number> {
  const { revision } = JSON.parse(await runTool(tool, path, ['snapshot', 'status', path, '--write-out=json'])) as { revision?: number };
  if (!Number.isSafeInteger(revision)) throw new Error('etcdutl tells no revision of a snapshot');
  return revision!;
}

export interface RestoredMember {
  name: string;
  peerUrl: string;
  initial: string;
  token: string;
  dataDir: string;
  /** How far revisions jump: everything up to there counts as compacted, so that clients list again. 0: revisions go on as they were. */
  bumpRevision: number;
}

/** Makes the data of one member of a snapshot. */
export async function restoreSnapshot(tool: Etcdutl, path: string, member: RestoredMember): Promise<void> {
  await runTool(tool, path, [
    'snapshot',
    'restore',
    path,
    `--name=${member.name}`,
    `--initial-cluster=${member.initial}`,
    `--initial-cluster-token=${member.token}`,
    `--initial-advertise-peer-urls=${member.peerUrl}`,
    `--data-dir=${member.dataDir}`,
    ...(member.bumpRevision > 0 ? [`--bump-revision=${member.bumpRevision}`, '--mark-compacted'] : []),
  ]);
}
