import { chown, mkdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { withRoom } from '../../../../kernel/data/disk-room.ts';
import { removeTree } from '../../../../kernel/programs/remove-tree.ts';
import type { StoreContent, StoreOrigin } from '../../../driver.ts';
import type { EtcdKeys } from '../../../keys.ts';
import { readSnapshotRevision, restoreSnapshot } from '../../clients/etcdutl.ts';
import { ownerVariable } from '../../clients/programs.ts';
import { ownMemberDir } from '../../clients/store-directory.ts';
import { roomForData } from '../../rules/copy-limits.ts';
import { type MembersFile, peerUrlOf } from '../../rules/etcd/members.ts';
import type { EtcdSpec } from '../../rules/programs.ts';
import type { ProcessPlane } from '../state.ts';
import { withScratchEtcd, writeCopy } from './scratch.ts';

/** How far above everything that clients have seen the revisions of a restored store begin. */
const revisionGap = 1_000_000;

interface Filling {
  origin: StoreOrigin;
  file: MembersFile;
  /** Of the generation that is being made. */
  dir: string;
}

/** Makes each member's data of a backup, or of the objects of another store. Requests wait from here on if the origin says so. */
export async function fillFromOrigin(plane: ProcessPlane, store: EtcdSpec, keys: EtcdKeys, { origin, file, dir }: Filling): Promise<void> {
  if (origin.freezes) await plane.freeze();
  const { identity, workDir } = plane.directory!;
  const tool = { program: store.programs.etcdutl, identity, cwd: workDir, signal: plane.stopping.signal };
  const path = join(dir, 'snapshot.db');
  const content = await origin.read();
  await writeSnapshot(plane, store, keys, { content, path, dir, members: file.members.length });
  if (identity.owner) await chown(path, identity.owner.uid, identity.owner.gid);
  const found = await readSnapshotRevision(tool, path);
  const bumpRevision = Math.max(0, content.revision - found) + revisionGap;
  await withRoom(dir, roomForData((await stat(path)).size, file.members.length), async () => {
    for (const member of file.members) {
      plane.stopping.signal.throwIfAborted();
      const memberDir = join(dir, member.name);
      await ownMemberDir(memberDir, identity.owner);
      const dataDir = join(memberDir, 'data');
      await restoreSnapshot(tool, path, { ...member, peerUrl: peerUrlOf(member), token: file.token, dataDir, bumpRevision });
    }
  });
  await rm(path, { force: true });
}

interface Writing {
  content: StoreContent;
  path: string;
  dir: string;
  /** Each gets a copy. */
  members: number;
}

async function writeSnapshot(
  plane: ProcessPlane,
  store: EtcdSpec,
  keys: EtcdKeys,
  { content, path, dir, members }: Writing,
): Promise<void> {
  const { signal } = plane.stopping;
  if (content.kind === 'snapshot') return writeCopy(path, content, members, signal);
  const directory = plane.directory!;
  const loading = join(dir, 'loading');
  await mkdir(loading, { mode: 0o711 });
  const scratch = {
    programs: store.programs,
    keys,
    identity: directory.identity,
    quotaBytes: store.quotaBytes,
    dir: loading,
    cwd: directory.workDir,
    env: { [ownerVariable]: directory.dir },
    copies: 1 + members,
    signal,
  };
  await withScratchEtcd(scratch, content, async (client) =>
    writeCopy(path, { content: await client.snapshot(), bytes: undefined }, members, signal),
  );
  await removeTree(join(loading, 'm1'));
  await rm(loading, { recursive: true, force: true });
}
