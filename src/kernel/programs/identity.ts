import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process';
import { lchown, readdir, stat } from 'node:fs/promises';
import { userInfo } from 'node:os';
import { dirname, join } from 'node:path';
import { exitCodes, Stop } from '../errors.ts';

/** A user of the system, by its numbers. */
export interface Owner {
  uid: number;
  gid: number;
}

/** As whom a program of ours runs. As root we make it somebody else: PostgreSQL refuses to be root, and what tenants drive must not be. */
export interface Identity {
  kind: 'self' | 'user' | 'namespace';
  /** Who must own its files; undefined = they are ours already. */
  owner: Owner | undefined;
  mayRead(path: string): Promise<boolean>;
  spawn(program: string, args: string[], options: SpawnOptions): ChildProcess;
}

/** Nothing of our own environment: PGDATA, PGPORT, LD_LIBRARY_PATH or a locale that is not installed would change what runs. */
const environment = ({ env }: SpawnOptions) => ({ PATH: process.env.PATH ?? '/usr/bin:/bin', LC_ALL: 'C', ...env });

const nobody = process.platform === 'darwin' ? { uid: 4294967294, gid: 4294967294 } : { uid: 65534, gid: 65534 };

export const self: Identity = {
  kind: 'self',
  owner: undefined,
  mayRead: async () => true,
  spawn: (program, args, options) => spawn(program, args, { ...options, env: environment(options) }),
};

export const asUser = (owner: Owner): Identity => ({
  kind: 'user',
  owner,
  mayRead: async (path) => (await firstClosed(path, owner)) === undefined,
  // spawn takes a signed number, and macOS's nobody is -2. Supplementary groups are dropped with the uid.
  spawn: (program, args, options) =>
    spawn(program, args, { ...options, env: environment(options), uid: owner.uid | 0, gid: owner.gid | 0 }),
});

/**
 * Root outside, nobody inside: it may go where root may by ownership, holds no capability, and the program is content. Weaker than a
 * real other user (root's files stay writable for it), so only where that one cannot reach the data.
 */
const inNamespace: Identity = {
  kind: 'namespace',
  owner: { uid: 0, gid: 0 },
  mayRead: async () => true,
  spawn: (program, args, options) =>
    spawn('unshare', ['--user', `--map-user=${nobody.uid}`, `--map-group=${nobody.gid}`, '--', program, ...args], {
      ...options,
      env: environment(options),
    }),
};

/** For whom an identity is looked for. */
export interface Runner {
  /** As sentences name it. */
  name: string;
  dataDir: string;
  /** Its directory; what stands in `data` of it, if anything does, says who owned it so far. */
  dir: string;
  data: string;
}

/** Whoever owns existing data goes on owning it, so that a start with sudo does not lock its user out; new data is nobody's. */
export async function chooseIdentity({ name, dataDir, dir, data }: Runner): Promise<Identity> {
  if (process.getuid?.() !== 0) return self;
  const found = await stat(data).catch(() => stat(dir));
  const owner = found.uid === 0 ? nobody : { uid: found.uid, gid: found.gid };
  return (await assume({ name, dataDir }, owner)).identity;
}

/** That user, where it can be assumed and reaches the data; else, and `why` says so, root's own in a namespace. */
export async function assume(
  { name, dataDir }: Pick<Runner, 'name' | 'dataDir'>,
  owner: Owner,
): Promise<{ identity: Identity; why?: string }> {
  const closed = await firstClosed(dataDir, owner);
  if (closed === undefined && (await works(asUser(owner)))) return { identity: asUser(owner) };
  const why =
    closed === undefined ? 'no other user can be assumed here' : `the user it would run as (id ${owner.uid}) may not enter ${closed}`;
  if (await works(inNamespace)) return { identity: inNamespace, why };
  throw new Stop(
    exitCodes.dataDirectory,
    `${name} does not run as root, and ${why}; set QUARTERDECK_DATA to a directory that everyone can reach, such as /var/lib/quarterdeck, or start Quarterdeck as an ordinary user`,
  );
}

/**
 * initdb, and only initdb, looks up the name of the user it runs as. A container started under a bare number has none; inside a
 * namespace the same user is called nobody, and the files stay ours.
 */
export async function forInitdb(identity: Identity): Promise<Identity> {
  if (identity.kind !== 'self' || hasName()) return identity;
  if (await works(inNamespace)) return { ...inNamespace, owner: undefined };
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

/** The first directory on the way to `path` that this user may not pass; undefined when the way is open. */
async function firstClosed(path: string, who: Owner): Promise<string | undefined> {
  const above = dirname(path) === path ? undefined : await firstClosed(dirname(path), who);
  if (above !== undefined) return above;
  const { uid, gid, mode } = await stat(path);
  const bit = uid === who.uid ? 0o100 : gid === who.gid ? 0o010 : 0o001;
  return mode & bit ? undefined : path;
}

/** Those that were seen to work: they do as long as we run. */
const worked = new Set<string>();

/** Asked, not guessed: a container may map no other user, and may forbid new namespaces. */
async function works(identity: Identity): Promise<boolean> {
  const name = `${identity.kind} ${identity.owner?.uid} ${identity.owner?.gid}`;
  if (!worked.has(name) && (await tryOut(identity))) worked.add(name);
  return worked.has(name);
}

function tryOut(identity: Identity): Promise<boolean> {
  const child = identity.spawn('id', ['-u'], { stdio: ['ignore', 'pipe', 'ignore'], cwd: '/' });
  return new Promise((resolve) => {
    let said = '';
    child.stdout?.on('data', (chunk) => (said += chunk));
    child.once('error', () => resolve(false));
    child.once('close', (code) => resolve(code === 0 && said.trim() !== '0'));
  });
}

/** Gives a directory and all in it to the identity. The top goes last: while it is another's, the work is not finished. */
export async function giveTo(identity: Identity, dir: string): Promise<void> {
  const { owner } = identity;
  if (!owner) return;
  const top = await stat(dir);
  if (top.uid === owner.uid && top.gid === owner.gid) return;
  for (const entry of await readdir(dir, { recursive: true, withFileTypes: true })) {
    await lchown(join(entry.parentPath, entry.name), owner.uid, owner.gid).catch((error: NodeJS.ErrnoException) => {
      // A server that is just ending takes its temporary files with it.
      if (error.code !== 'ENOENT') throw error;
    });
  }
  await lchown(dir, owner.uid, owner.gid);
}
