import { chmodSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { commandName } from '../command-name.ts';
import { usage } from '../exit.ts';
import { serverUrl } from '../origin.ts';

// A profile is a login of this user: a server, an organization there, and a token. Each is a file of its own in the user's configuration
// directory, so that two logins at once do not overwrite each other. The token is in the keyring, or in the file where there is none.

export interface Profile {
  name: string;
  url: string;
  organization: string;
  user: string;
  tokenId: string;
  expiresAt: string;
  /** Absent: the token is in the keyring. */
  token?: string;
}

/** A name that means the server of this machine, with its owner's token. */
export const localName = 'local';

const isName = (name: string) => /^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$/.test(name);

export function requireName(name: string): string {
  if (!isName(name)) usage(`a profile's name has letters, digits, dots and dashes, at most 63; found "${name}"`);
  return name;
}

/** The user's configuration directory; without a home there are no profiles. */
export function configFolder(env: NodeJS.ProcessEnv): string | undefined {
  const base = env['XDG_CONFIG_HOME'] || (env['HOME'] && join(env['HOME'], '.config')) || env['APPDATA'];
  return base ? join(base, 'quarterdeck') : undefined;
}

const folderOf = (env: NodeJS.ProcessEnv): string =>
  configFolder(env) ?? usage('there is no place to keep a login: HOME and XDG_CONFIG_HOME are not set');

const fileOf = (folder: string, name: string) => join(folder, 'profiles', `${name}.json`);

/** The names of all profiles, sorted. */
export function profileNames(env: NodeJS.ProcessEnv): string[] {
  const folder = configFolder(env);
  try {
    const files = folder ? readdirSync(join(folder, 'profiles')) : [];
    return files.flatMap((file) => (file.endsWith('.json') && isName(file.slice(0, -5)) ? [file.slice(0, -5)] : [])).sort();
  } catch {
    return [];
  }
}

/** Undefined: there is none of that name. A file that others can read or change is refused. */
export function readProfile(env: NodeJS.ProcessEnv, name: string): Profile | undefined {
  const folder = configFolder(env);
  if (!folder || !isName(name)) return undefined;
  const file = fileOf(folder, name);
  let text: string;
  try {
    requirePrivate(join(folder, 'profiles'), 0o022);
    requirePrivate(file, 0o077);
    text = readFileSync(file, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
  return parsed(text, name) ?? usage(`${file} is damaged; \`${commandName} profile remove ${name}\` removes it, then log in again`);
}

/** A token that others can read is no secret any more, and a file that others can change names their server. */
function requirePrivate(path: string, forbidden: number): void {
  const { mode, uid } = statSync(path);
  const user = process.getuid?.();
  if (user === undefined) return;
  if (uid !== user && uid !== 0) usage(`${path} belongs to another user; remove it, and log in again`);
  if (mode & forbidden) usage(`${path} is open to other users of this machine: revoke its token, \`chmod go= ${path}\`, and log in again`);
}

function parsed(text: string, name: string): Profile | undefined {
  try {
    const read = JSON.parse(text) as Record<keyof Profile, unknown>;
    const { url, organization, user, tokenId, expiresAt, token } = read;
    const texts = [url, organization, user, tokenId, expiresAt];
    if (!texts.every((each) => typeof each === 'string') || !['string', 'undefined'].includes(typeof token)) return undefined;
    return { ...(read as unknown as Profile), name, url: serverUrl(url as string) };
  } catch {
    return undefined;
  }
}

/** The file is replaced as a whole: a reader, or a command that is killed, sees one of both. */
export function writeProfile(env: NodeJS.ProcessEnv, { name, ...kept }: Profile): string {
  const folder = folderOf(env);
  const file = fileOf(folder, requireName(name));
  makePrivateFolder(folder);
  makePrivateFolder(join(folder, 'profiles'));
  replaceFile(file, `${JSON.stringify(kept, null, 2)}\n`);
  return file;
}

/** A directory that was there before loses the rights of others. */
function makePrivateFolder(folder: string): void {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  chmodSync(folder, 0o700);
}

function replaceFile(file: string, text: string): void {
  const temporary = `${file}.${process.pid}`;
  try {
    rmSync(temporary, { force: true });
    writeFileSync(temporary, text, { mode: 0o600, flag: 'wx' });
    renameSync(temporary, file);
  } catch (error) {
    rmSync(temporary, { force: true });
    usage(`${file} cannot be written: ${(error as NodeJS.ErrnoException).code ?? (error as Error).message}`);
  }
}

/** False: there was none. */
export function removeProfile(env: NodeJS.ProcessEnv, name: string): boolean {
  const folder = configFolder(env);
  if (!folder || !profileNames(env).includes(name)) return false;
  rmSync(fileOf(folder, name), { force: true });
  if (currentName(env) === name) useProfile(env, undefined);
  return true;
}

/** The profile that commands use unless told otherwise. */
export function currentName(env: NodeJS.ProcessEnv): string | undefined {
  const folder = configFolder(env);
  try {
    const name = folder ? readFileSync(join(folder, 'current'), 'utf8').trim() : '';
    return isName(name) ? name : undefined;
  } catch {
    return undefined;
  }
}

export function useProfile(env: NodeJS.ProcessEnv, name: string | undefined): void {
  const folder = folderOf(env);
  if (name === undefined) {
    rmSync(join(folder, 'current'), { force: true });
    return;
  }
  makePrivateFolder(folder);
  replaceFile(join(folder, 'current'), `${name}\n`);
}
