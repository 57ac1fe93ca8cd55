import { text } from 'node:stream/consumers';
import { call, find, type Here } from './connect.ts';

// docker, podman, skopeo and buildah ask a helper named docker-credential-quarterdeck whenever they need a login, so nothing is stored:
// each time they get one that lasts an hour. In ~/.docker/config.json: { "credHelpers": { "<host>": "quarterdeck" } }.

/** The words by which the clients know that there is simply no login, and go on without one. */
const notFound = 'credentials not found in native keychain';

/** `registry.example`, `127.0.0.1:8080`, or a URL with any path: clients write all of these. */
function hostOf(server: string): string | undefined {
  const url = URL.parse(/^https?:\/\//.test(server) ? server : `https://${server}`);
  return url?.host || undefined;
}

const isLoopback = (host: string) => /^(localhost|127(\.\d+){3}|\[::1\])(:\d+)?$/.test(host);

export async function dockerCredential(verb: string | undefined, input: string, env: NodeJS.ProcessEnv, version: string): Promise<string> {
  switch (verb) {
    case 'get': {
      const server = input.trim();
      const host = hostOf(server);
      if (!host) throw new Error(notFound);
      const here: Here = {
        env,
        version,
        server: async () => ({ url: `${isLoopback(host) ? 'http' : 'https'}://${host}`, dataDir: env['QUARTERDECK_DATA'] ?? './data' }),
      };
      const connection = await find({}, here);
      // QUARTERDECK_URL says whose token it is: a client that asks for another host gets nothing of it.
      if (hostOf(connection.url) !== host || !connection.token) throw new Error(notFound);
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
