import { execFile } from 'node:child_process';
import { MeshError } from './types.ts';

// `ip` of iproute2, `wg` of wireguard-tools and, where the kernel has no WireGuard, `wireguard-go`.

const timeoutMs = 10_000;
const maxOutputBytes = 4 * 2 ** 20;

/** A program has ended with an error; the message is what it said. */
export class ProgramFailure extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'ProgramFailure';
  }
}

const packages: Record<string, string> = { ip: 'iproute2', wg: 'wireguard-tools', 'wireguard-go': 'wireguard-go' };

/** Runs a program to its end; its output. `input` goes through a pipe, because `wg` opens /dev/stdin, and Node's own pipes are sockets. */
export function run(program: string, args: readonly string[], input?: string): Promise<string> {
  const [file, all] = input === undefined ? [program, args] : ['sh', ['-c', 'cat | exec "$0" "$@"', program, ...args]];
  return new Promise((resolve, reject) => {
    const child = execFile(file, all, { timeout: timeoutMs, maxBuffer: maxOutputBytes }, (error, stdout, stderr) => {
      if (!error) return resolve(stdout);
      const { code } = error as NodeJS.ErrnoException;
      const isMissing = code === 'ENOENT' || (input !== undefined && /not found/.test(stderr));
      reject(
        isMissing ? missing(program) : new ProgramFailure(`${program} ${args.slice(0, 3).join(' ')}: ${lastLine(stderr) || error.message}`),
      );
    });
    child.stdin?.on('error', () => {}); // it ended without reading
    child.stdin?.end(input ?? '');
  });
}

const missing = (program: string): MeshError =>
  new MeshError(
    `${program} is not installed on the server that holds the cluster; the operator installs the package ${packages[program] ?? program}`,
  );

const lastLine = (text: string): string => text.trim().split('\n').at(-1)!.slice(0, 200);

/** The same where it does not matter whether it works. */
export const tryRun = (program: string, args: readonly string[]): Promise<string | undefined> => run(program, args).catch(() => undefined);
