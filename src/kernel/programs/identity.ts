import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process';
import { lchown, readdir, stat } from 'node:fs/promises';
import { userInfo } from 'node:os';
import { dirname, join } from 'node:path';
import { exitCodes, Stop } from '../errors.ts';

/** A system user, by uid and gid. */
export interface Owner {
  uid: number;
  gid: number;
}

/**
 * The user that a child program runs as. A server that runs as root switches the user: PostgreSQL refuses to run as root, and programs that
 * tenants control must not.
 */
export interface Identity {
  kind: 'self' | 'user' | 'namespace';
  /** The required owner of its files; undefined = they belong to us already. */
  owner: Owner | undefined;
  mayRead(path: string): Promise<boolean>;
  spawn(program: string, args: string[], options: SpawnOptions): ChildProcess;
}

/** Nothing of our own environment: PGDATA, PGPORT, LD_LIBRARY_PATH or a locale that is not installed would change the program. */
const environment = ({ env }: SpawnOptions) => ({ PATH: process.env.PATH ?? '/usr/bin:/bin', LC_ALL: 'C', ...env });

const unprivilegedUser = process.platform === 'darwin' ? { uid: 4294967294, gid: 4294967294 } : { uid: 65534, gid: 65534 };

export const self: Identity = {
  kind: 'self',
  owner: undefined,
  mayRead: async () => true,
  spawn: (program, args, options) => spawn(program, args, { ...options, env: environment(options) }),
};

export const asUser = (owner: Owner): Identity => ({
  kind: 'user',
  owner,
  mayRead: async (path) => (await firstInaccessible(path, owner)) === undefined,
  // spawn takes a signed number, and macOS's unprivileged user is -2. Supplementary groups are dropped with the uid.
  spawn: (program, args, options) =>
    spawn(program, args, { ...options, env: environment(options), uid: owner.uid | 0, gid: owner.gid | 0 }),
});

/**
 * Root outside, an unprivileged user inside: it may go where root may by ownership, has no capability, and the program accepts it. Weaker
 * than a real other user (root's files stay writable for it), so it is used only where that user cannot reach the data.
 */
const inNamespace: Identity = {
  kind: 'namespace',
  owner: { uid: 0, gid: 0 },
  mayRead: async () => true,
  spawn: (program, args, options) =>
    spawn('unshare', ['--user', `--map-user=${unprivilegedUser.uid}`, `--map-group=${unprivilegedUser.gid}`, '--', program, ...args], {
      ...options,
      env: environment(options),
    }),
};

/** The program that an identity is chosen for. */
export interface ProgramLocation {
  /** The name in error sentences. */
  name: string;
  dataDir: string;
  /** Its directory. The owner of `data` in it, if that exists, is the owner so far. */
  dir: string;
  data: string;
}

/**
 * The owner of existing data stays the owner, so that a start with sudo does not lock that user out. New data belongs to the unprivileged
 * user.
 */
export async function chooseIdentity({ name, dataDir, dir, data }: ProgramLocation): Promise<Identity> {
  if (process.getuid?.() !== 0) return self;
  const found = await stat(data).catch(() => stat(dir));
  const owner = found.uid === 0 ? unprivilegedUser : { uid: found.uid, gid: found.gid };
  return (await assume({ name, dataDir }, owner)).identity;
}

/** That user, if it can be assumed and reaches the data; otherwise root in a namespace, with the reason in `why`. */
export async function assume(
  { name, dataDir }: Pick<ProgramLocation, 'name' | 'dataDir'>,
  owner: Owner,
): Promise<{ identity: Identity; why?: string }> {
  const closed = await firstInaccessible(dataDir, owner);
  if (closed === undefined && (await isUsable(asUser(owner)))) return { identity: asUser(owner) };
  const why =
    closed === undefined ? 'no other user can be assumed here' : `the user it would run as (id ${owner.uid}) may not enter ${closed}`;
  if (await isUsable(inNamespace)) return { identity: inNamespace, why };
  throw new Stop(
    exitCodes.dataDirectory,
    `${name} does not run as root, and ${why}; set QUARTERDECK_DATA to a directory that everyone can reach, such as /var/lib/quarterdeck, or start Quarterdeck as an ordinary user`,
  );
}

/**
 * initdb, and only initdb, looks up the name of its user. A container started under a bare uid has none. Inside a namespace the same user
 * has a name, and the files stay ours.
 */
export async function forInitdb(identity: Identity): Promise<Identity> {
  if (identity.kind !== 'self' || hasName()) return identity;
  if (await isUsable(inNamespace)) return { ...inNamespace, owner: undefined };
  throw new Stop(
    exitCodes.dataDirectory,
    `PostgreSQL cannot make its data directory for a user without a name (id ${process.getuid?.()}); start Quarterdeck as a user that /etc/passwd lists, or set QUARTERDECK_DATABASE_URL`,
  );
}

function hasName(): boolean {
  try {
    return userInfo().username !== '';
  } catch {
    return false;
  }
}

/** The first directory on the path that this user may not pass; undefined when there is none. */
async function firstInaccessible(path: string, who: Owner): Promise<string | undefined> {
  const above = dirname(path) === path ? undefined : await firstInaccessible(dirname(path), who);
  if (above !== undefined) return above;
  const { uid, gid, mode } = await stat(path);
  const bit = uid === who.uid ? 0o100 : gid === who.gid ? 0o010 : 0o001;
  return mode & bit ? undefined : path;
}

/** Identities that have worked: they do for the life of this process. */
const workingIdentities = new Set<string>();

/** Tested, not guessed: a container may map no other user, and may forbid new namespaces. */
async function isUsable(identity: Identity): Promise<boolean> {
  const name = `${identity.kind} ${identity.owner?.uid} ${identity.owner?.gid}`;
  if (!workingIdentities.has(name) && (await testIdentity(identity))) workingIdentities.add(name);
  return workingIdentities.has(name);
}

function testIdentity(identity: Identity): Promise<boolean> {
  const child = identity.spawn('id', ['-u'], { stdio: ['ignore', 'pipe', 'ignore'], cwd: '/' });
  return new Promise((resolve) => {
    let said = '';
    child.stdout?.on('data', (chunk) => (said += chunk));
    child.once('error', () => resolve(false));
    child.once('close', (code) => resolve(code === 0 && said.trim() !== '0'));
  });
}

/** Changes the owner of a directory and everything in it. The top goes last: while it has another owner, the work is not finished. */
export async function chownTree(identity: Identity, dir: string): Promise<void> {
  const { owner } = identity;
  if (!owner) return;
  const top = await stat(dir);
  if (top.uid === owner.uid && top.gid === owner.gid) return;
  for (const entry of await readdir(dir, { recursive: true, withFileTypes: true })) {
    await lchown(join(entry.parentPath, entry.name), owner.uid, owner.gid).catch((error: NodeJS.ErrnoException) => {
      // A server that is just ending removes its temporary files.
      if (error.code !== 'ENOENT') throw error;
    });
  }
  await lchown(dir, owner.uid, owner.gid);
}
