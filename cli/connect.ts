import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Api, quarterdeck } from '../sdk/index.ts';
import { exitCodes, explained, Failure, usage } from './exit.ts';

/** What the command line is told of the machine it runs on. */
export interface Here {
  env: NodeJS.ProcessEnv;
  version: string;
  /** Where this machine's own server is, and where it keeps its data. Read only when it is needed. */
  server(): Promise<{ url: string; dataDir: string }>;
}

export interface Wanted {
  url?: string;
  token?: string;
}

export interface Connection {
  url: string;
  token: string | undefined;
  /** In words, to show. */
  tokenFrom: string;
}

/** Options first, then the environment, then what the server of this machine left here. */
export async function find(wanted: Wanted, here: Here): Promise<Connection> {
  const given = wanted.url ?? here.env['QUARTERDECK_URL'];
  if (given !== undefined && !/^https?:\/\//.test(URL.parse(given)?.href ?? ''))
    usage(`the server's URL must begin with http:// or https://, found "${given}"`);
  if (wanted.token) return { url: given ?? (await here.server()).url, token: wanted.token, tokenFrom: 'the one of --token' };
  const fromEnv = here.env['QUARTERDECK_TOKEN'];
  if (fromEnv) return { url: given ?? (await here.server()).url, token: fromEnv, tokenFrom: 'QUARTERDECK_TOKEN' };

  const { url: own, dataDir } = await here.server();
  const url = given ?? own;
  // The owner's key is for the server that wrote it. Whoever is named by a URL from elsewhere must not be handed it.
  const file = join(dataDir, 'owner.token');
  const token = isThisMachine(url) || url === own ? read(file) : undefined;
  return { url, token, tokenFrom: token ? file : 'none' };
}

const isThisMachine = (url: string) => /^(localhost|127(\.\d+){3}|\[::1\])$/.test(new URL(url).hostname);

function read(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8').trim() || undefined;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EACCES')
      usage(`${file} is not yours to read; set QUARTERDECK_TOKEN to a token of your own`);
    return undefined;
  }
}

/** Calls the server and turns whatever it refuses into one sentence and an exit code. */
export async function call<T>(
  connection: Connection,
  here: Here,
  options: { open?: boolean | undefined },
  act: (api: Api) => Promise<T>,
): Promise<T> {
  const { url, token, tokenFrom } = connection;
  if (!token && !options.open) throw new Failure(exitCodes.unauthenticated, `no token for ${url}: set QUARTERDECK_TOKEN, or give --token`);
  try {
    return await act(quarterdeck({ url, token, userAgent: `quarterdeck-cli/${here.version}` }));
  } catch (error) {
    throw explained(error, tokenFrom);
  }
}
