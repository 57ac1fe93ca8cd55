import { text } from 'node:stream/consumers';
import { type CliContext, type Connection, call, environmentUrl, findConnection } from './connect.ts';
import { originOf } from './origin.ts';

// docker, podman, skopeo and buildah ask a helper named docker-credential-quarterdeck whenever they need a login, so nothing is stored:
// each time they get one that lasts an hour. In ~/.docker/config.json: { "credHelpers": { "<host>": "quarterdeck" } }.

/** The words by which the clients know that there is simply no login, and go on without one. */
const notFound = 'credentials not found in native keychain';

/** `registry.example`, `127.0.0.1:8080`, or a URL with any path: clients write all of these. */
function originsOf(server: string): string[] {
  const urls = /^https?:\/\//.test(server) ? [server] : [`https://${server}`, `http://${server}`];
  return urls.flatMap((text) => {
    const url = URL.parse(text);
    return url && !url.username && !url.password ? [originOf(text)] : [];
  });
}

/** A client may ask for any host there is. Only what a token lying ready here was given for is asked for a login. */
async function connectionTo(server: string, here: CliContext): Promise<Connection | undefined> {
  const set = environmentUrl(here);
  for (const origin of originsOf(server)) {
    const url = set && originOf(set) === origin ? set : origin; // QUARTERDECK_URL may have a path, of which clients know nothing
    const connection = await findConnection({ url }, here);
    if (connection.token) return connection;
  }
  return undefined;
}

export async function dockerCredential(verb: string | undefined, input: string, env: NodeJS.ProcessEnv, version: string): Promise<string> {
  switch (verb) {
    case 'get': {
      const server = input.trim();
      // Clients start us in any directory: a settings file there is not asked where this machine's server is.
      const own = { url: 'http://127.0.0.1:8080', dataDir: env['QUARTERDECK_DATA'] ?? './data' };
      const here: CliContext = { env, version, server: async () => own };
      const connection = (await connectionTo(server, here)) ?? fail(notFound);
      const login = await call(connection, here, {}, (api) =>
        api.registry.createRegistryLogin(env['QUARTERDECK_PULL_ONLY'] ? { pullOnly: true } : {}),
      );
      return JSON.stringify({ ServerURL: server, Username: login.username, Secret: login.password });
    }
    case 'list':
      return '{}';
    case 'erase': // after a logout, or a login that was refused: the next `get` mints another
      return '';
    case 'store':
      throw new Error('nothing to store: logins are minted when they are needed, with QUARTERDECK_TOKEN');
    default:
      throw new Error('usage: docker-credential-quarterdeck get|store|erase|list; docker, podman and skopeo call it by themselves');
  }
}

const fail = (sentence: string): never => {
  throw new Error(sentence);
};

/** The clients read the reason of a failure from the standard output. */
export async function main(verb: string | undefined, version: string): Promise<void> {
  try {
    const answer = await dockerCredential(verb, verb === 'list' ? '' : await text(process.stdin), process.env, version);
    if (answer) process.stdout.write(`${answer}\n`);
  } catch (error) {
    process.stdout.write(`${(error as Error).message}\n`);
    process.exitCode = 1;
  }
}

if (import.meta.main) await main(process.argv[2], process.argv[3] ?? '0');
