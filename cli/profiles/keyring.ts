import { spawn } from 'node:child_process';
import { originOf } from '../origin.ts';

// The keyring of the desktop, by the program that the system has for it: `secret-tool` (libsecret) or `security` (macOS). A token is kept
// under its profile and its server, so that a profile that somebody changed finds no token of another server. A token is never an argument:
// other users see those.

export interface Place {
  profile: string;
  url: string;
}

export interface Keyring {
  /** False: there is no keyring here that keeps anything. */
  keep(place: Place, token: string): Promise<boolean>;
  find(place: Place): Promise<string | undefined>;
  forget(place: Place): Promise<void>;
}

/** A keyring that is locked asks its user first. */
const timeoutMs = 60_000;
const maxBytes = 4_096;

/** What a program prints; undefined: it is not there, it failed, or took too long. */
function ask(program: string, args: readonly string[], env: NodeJS.ProcessEnv, input = ''): Promise<string | undefined> {
  return new Promise((resolve) => {
    const child = spawn(program, args, { env, stdio: ['pipe', 'pipe', 'ignore'], timeout: timeoutMs });
    let said = '';
    child.on('error', () => resolve(undefined));
    child.stdout.on('data', (chunk: Buffer) => {
      if (said.length < maxBytes) said += chunk.toString();
    });
    child.on('close', (code) => resolve(code === 0 ? said : undefined));
    child.stdin.on('error', () => {});
    child.stdin.end(input);
  });
}

export function findKeyring(env: NodeJS.ProcessEnv, platform: NodeJS.Platform = process.platform): Keyring {
  const commands = platform === 'darwin' ? security : secretTool;
  const find = async (place: Place) => {
    const { program, args } = commands.find(place);
    return (await ask(program, args, env))?.trim() || undefined;
  };
  return {
    find,
    async keep(place, token) {
      // `security -i` reads commands by line and word: nothing in a token may end one.
      if (!/^[\w.~+/=-]{1,500}$/.test(token)) return false;
      const { program, args, input } = commands.keep(place, token);
      return (await ask(program, args, env, input)) !== undefined && (await find(place)) === token;
    },
    async forget(place) {
      const { program, args } = commands.forget(place);
      await ask(program, args, env);
    },
  };
}

const attributes = ({ profile, url }: Place) => ['service', 'quarterdeck', 'profile', profile, 'server', originOf(url)];

const secretTool = {
  keep: (place: Place, token: string) => ({
    program: 'secret-tool',
    args: ['store', `--label=Quarterdeck: ${place.profile}`, ...attributes(place)],
    input: token,
  }),
  find: (place: Place) => ({ program: 'secret-tool', args: ['lookup', ...attributes(place)] }),
  forget: (place: Place) => ({ program: 'secret-tool', args: ['clear', ...attributes(place)] }),
};

const serviceOf = ({ url }: Place) => `quarterdeck ${originOf(url)}`;

const security = {
  keep: (place: Place, token: string) => ({
    program: 'security',
    args: ['-i'],
    input: `add-generic-password -U -a "${place.profile}" -s "${serviceOf(place)}" -w "${token}"\n`,
  }),
  find: (place: Place) => ({ program: 'security', args: ['find-generic-password', '-a', place.profile, '-s', serviceOf(place), '-w'] }),
  forget: (place: Place) => ({ program: 'security', args: ['delete-generic-password', '-a', place.profile, '-s', serviceOf(place)] }),
};
