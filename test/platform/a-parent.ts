import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { promisify } from 'node:util';
import { ownPorts } from '../harness/own-ports.ts';
import { eventually } from '../harness/process.ts';

const bin = join(import.meta.dirname, '..', '..', 'bin', 'quarterdeck.mjs');

/** `quarterdeck serve` as people start it, with the parent that stays. */
export interface StartedParent {
  pid: number;
  ended: Promise<[number | null, NodeJS.Signals | null]>;
  /** Everything that it and its servers said so far. */
  said(): string;
  /** Resolves with the match once it was said. */
  hears(what: RegExp): Promise<RegExpExecArray>;
}

export interface ParentOptions {
  env?: Record<string, string>;
  /** The program to start, if it is not this clone's. */
  script?: string;
  args?: string[];
}

export function startParent(t: TestContext, dir: string, { env = {}, script = bin, args = ['serve'] }: ParentOptions = {}): StartedParent {
  const parent = spawn(process.execPath, [script, ...args], {
    cwd: dir,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...ordinaryEnv(), ...ownPorts, ...quick, QUARTERDECK_DATA: join(dir, 'data'), ...env },
  });
  t.after(() => parent.kill('SIGKILL'));
  let said = '';
  for (const stream of [parent.stdout, parent.stderr]) stream.setEncoding('utf8').on('data', (text) => (said += text));
  return {
    pid: parent.pid!,
    ended: once(parent, 'exit') as StartedParent['ended'],
    said: () => said,
    hears: (what) =>
      eventually(async () => what.exec(said) ?? undefined, { withinMs: 90_000 }).catch((error) => {
        throw new Error(`${what} was not said: ${said}`, { cause: error });
      }),
  };
}

const quick = { QUARTERDECK_DNS_SERVERS: '127.0.0.1:1', QUARTERDECK_RATE_LIMIT: '0', QUARTERDECK_STOP_NOTICE_SECONDS: '0' };

/** Ours without what steers Quarterdeck or the test runner. */
export const ordinaryEnv = (): Record<string, string> =>
  Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^(QUARTERDECK_|NODE_TEST|NODE_OPTIONS|PG)/.test(name))) as Record<
    string,
    string
  >;

/** The servers below a parent, the oldest first. */
export async function childrenOf(pid: number): Promise<number[]> {
  const { stdout } = await promisify(execFile)('ps', ['-A', '-o', 'pid=,ppid=,stat=']);
  return stdout
    .split('\n')
    .map((line) => line.trim().split(/\s+/))
    .flatMap(([own, above, state = '']) => (above === String(pid) && !state.startsWith('Z') ? [Number(own)] : []));
}

/** The command line beside it. */
export const quarterdeckCommand = (dir: string, args: string[], env: Record<string, string> = {}) =>
  promisify(execFile)(process.execPath, [bin, ...args], {
    cwd: dir,
    env: { ...ordinaryEnv(), ...quick, QUARTERDECK_DATA: join(dir, 'data'), ...env },
  }).then(
    ({ stdout, stderr }) => ({ code: 0, said: stdout + stderr }),
    ({ code, stdout, stderr }: { code: number; stdout: string; stderr: string }) => ({ code, said: stdout + stderr }),
  );
