import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Command, readCommands } from '../sdk/commands.ts';
import { type Api, quarterdeck } from '../sdk/index.ts';
import { commandName } from './command-name.ts';
import { exitCodes, explained, Failure, usage } from './exit.ts';
import { isOverheard, isThisMachine, namesOf, originOf, serverUrl } from './origin.ts';
import { chosenProfile, loginAgain, namedProfile, profileFor, tokenOf } from './profiles/choose.ts';
import { localName, type Profile } from './profiles/folder.ts';
import { fetchWithNotice } from './status-line.ts';
import { tell } from './tell.ts';

/** What the command line is told of the machine it runs on. */
export interface CliContext {
  env: NodeJS.ProcessEnv;
  version: string;
  /** This machine's own server, by its settings. Read only when it is needed. */
  server(wanted?: { preferTry?: boolean }): Promise<OwnServer>;
}

export interface OwnServer {
  url: string;
  /** Where the URL was found, in words. */
  urlFrom?: string;
  dataDir: string;
  /** The URL comes from a quarterdeck.toml that merely lies in the current directory: it may be anybody's. */
  isFromFolder?: boolean;
}

export interface ConnectionOptions {
  url?: string;
  token?: string;
  /** The name of a login, or `local`. */
  profile?: string;
}

export interface Connection {
  url: string;
  /** Where the URL was found, in words; absent when it was typed. */
  urlFrom?: string;
  token: string | undefined;
  /** In words, to show. */
  tokenFrom: string;
  /** Why a token that lies ready does not go there, and what to do. */
  withheld?: string;
  /** The login that the token is of. */
  login?: Profile;
}

/** A token that lies ready, and the servers it was given for: it goes nowhere else. */
interface StoredToken {
  token: string;
  from: string;
  servers: string[];
}

/** What a command may fall back on. */
interface Fallbacks {
  /** The token of this machine's owner. */
  mayBeOwner?: boolean;
  /** The server of the login in use. */
  mayBeInUse?: boolean;
}

/** The URL wanted or set, else that of the login in use, else this machine's. The token of --token, else the first that was given for that server. */
export async function findConnection(wanted: ConnectionOptions, here: CliContext, fallbacks: Fallbacks = {}): Promise<Connection> {
  const place = await findServer(wanted, here, fallbacks);
  const { url } = place;
  if (wanted.token) return { ...place, token: sendable(wanted.token, '--token'), tokenFrom: 'the one of --token' };
  if (wanted.profile !== undefined && place.profile) return withLogin(place, place.profile, here);

  const set = await environmentToken(here);
  if (set && isFor(set, url)) return { ...place, token: set.token, tokenFrom: set.from };
  const { profile: login, withheld } = wanted.profile === localName ? noLogin : loginAt(place, here);
  if (login) return withLogin(place, login, here);
  const left = (fallbacks.mayBeOwner ?? true) ? await ownerToken(here, set) : undefined;
  if (left && isFor(left, url)) return { ...place, token: left.token, tokenFrom: left.from };
  const why = withheld ?? (set && whyWithheld(url, here));
  return { ...place, token: undefined, tokenFrom: 'none', ...(why ? { withheld: why } : {}) };
}

const noLogin: ReturnType<typeof profileFor> = {};

const loginAt = ({ url, profile }: Server, { env }: CliContext) => (profile ? { ...noLogin, profile } : profileFor(env, url));

async function withLogin(place: Server, profile: Profile, { env }: CliContext): Promise<Connection> {
  const from = `the profile ${profile.name}`;
  return { ...place, login: profile, token: sendable(await tokenOf(env, profile), from), tokenFrom: from };
}

interface Server extends Pick<Connection, 'url' | 'urlFrom'> {
  profile?: Profile;
}

/** Flags, then the environment, then the login in use, then this machine. */
export async function findServer(wanted: ConnectionOptions, here: CliContext, { mayBeInUse = true }: Fallbacks = {}): Promise<Server> {
  const isLocal = wanted.profile === localName;
  const named = wanted.profile === undefined || isLocal ? undefined : namedProfile(here.env, wanted.profile);
  if (wanted.url !== undefined) {
    const url = serverUrl(wanted.url);
    if (named && originOf(named.url) !== originOf(url))
      usage(`the profile ${named.name} is for ${named.url}; leave out --url or --profile`);
    return { url, ...(named ? { profile: named } : {}) };
  }
  if (named) return ofProfile(named);
  const set = isLocal ? undefined : environmentUrl(here);
  if (set !== undefined) return { url: set, urlFrom: 'QUARTERDECK_URL' };
  const chosen = isLocal || !mayBeInUse ? undefined : chosenProfile(here.env);
  if (chosen) return ofProfile(chosen);
  const { url, urlFrom = 'the settings of this machine' } = await here.server();
  return { url: serverUrl(url), urlFrom };
}

const ofProfile = (profile: Profile): Server => ({ url: profile.url, urlFrom: `the profile ${profile.name}`, profile });

export function environmentUrl({ env }: Pick<CliContext, 'env'>): string | undefined {
  return env['QUARTERDECK_URL'] ? serverUrl(env['QUARTERDECK_URL']) : undefined;
}

const isFor = ({ servers }: StoredToken, url: string) => servers.some((server) => originOf(server) === originOf(url));

/** QUARTERDECK_TOKEN is for QUARTERDECK_URL, and without it for the server of this machine. */
async function environmentToken(here: CliContext): Promise<StoredToken | undefined> {
  const token = here.env['QUARTERDECK_TOKEN'];
  if (!token) return undefined;
  const url = environmentUrl(here);
  return { token: sendable(token, 'QUARTERDECK_TOKEN'), from: 'QUARTERDECK_TOKEN', servers: url ? [url] : ownUrls(await here.server()) };
}

/**
 * The owner's token is for the server that wrote it; the file beside it lists that server's URLs. A caller with QUARTERDECK_TOKEN set does
 * not silently fall back to an owner token in the current directory for a server that only a file there names.
 */
async function ownerToken(here: CliContext, set: StoredToken | undefined): Promise<StoredToken | undefined> {
  const own = await here.server();
  if (set && own.isFromFolder && !isThisMachine(own.url)) return undefined;
  const from = join(own.dataDir, 'owner.token');
  const token = read(from);
  if (!token) return undefined;
  const told = read(join(own.dataDir, 'owner.url'))
    ?.split('\n')
    .filter((line) => URL.canParse(line));
  return { token: sendable(token, from), from, servers: told ? told.flatMap(namesOf) : ownUrls(own) };
}

const ownUrls = ({ url, isFromFolder }: OwnServer) => (isFromFolder && !isThisMachine(url) ? [] : namesOf(url));

const whyWithheld = (url: string, here: CliContext) =>
  environmentUrl(here)
    ? `QUARTERDECK_TOKEN is for ${environmentUrl(here)}, which QUARTERDECK_URL names; give --token, or set both for this server`
    : `QUARTERDECK_TOKEN is for the server of this machine while QUARTERDECK_URL is not set; if it is a token of ${url}, set QUARTERDECK_URL to that, or give --token`;

/** What cannot stand in a header would be refused by words that repeat it. */
function sendable(token: string, from: string): string {
  if (!/^[\x21-\x7e]+$/.test(token.trim())) usage(`the token in ${from} has a character that no token has; copy it again`);
  return token.trim();
}

function read(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8').trim() || undefined;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EACCES')
      usage(`${file} is not yours to read; set QUARTERDECK_TOKEN to a token of your own`);
    return undefined;
  }
}

/** The nearest list of what a command names: `email domains dns get` has `email domains list`. */
export function listBeside(words: readonly string[]): string | undefined {
  const lists = new Set(readCommands().commands.map((each) => each.words.join(' ')));
  for (let length = words.length - 1; length > 0; length--) {
    const list = [...words.slice(0, length), 'list'].join(' ');
    if (lists.has(list) && list !== words.join(' ')) return list;
  }
  return undefined;
}

/** Calls the server and turns whatever it refuses into one sentence and an exit code. */
export async function call<T>(
  connection: Connection,
  here: CliContext,
  options: Partial<Pick<Command, 'open' | 'words' | 'params' | 'credential'>>,
  act: (api: Api) => Promise<T>,
): Promise<T> {
  const { url, token, withheld } = connection;
  if (!token && !options.open) {
    const why = withheld ?? `\`${commandName} login ${url}\` gets one; in a script set QUARTERDECK_URL and QUARTERDECK_TOKEN`;
    throw new Failure(exitCodes.unauthenticated, `no token for ${url}: ${why}`);
  }
  if (token && isOverheard(url)) tell(`quarterdeck: the token goes to ${url} unencrypted, for everybody on the way to read; use https`);
  try {
    return await act(quarterdeck({ url, token, userAgent: `quarterdeck-cli/${here.version}`, fetch: fetchWithNotice }));
  } catch (error) {
    throw explained(error, {
      ...connection,
      again: connection.login && loginAgain(connection.login),
      list: options.params?.length ? listBeside(options.words ?? []) : undefined,
      credential: options.credential,
    });
  }
}
