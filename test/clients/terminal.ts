import { spawn } from 'node:child_process';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { stripVTControlCharacters } from 'node:util';
import { eventually } from '../harness/process.ts';
import { compileCache } from '../harness/quick-start.ts';

const root = join(import.meta.dirname, '..', '..');

export interface OnTerminal {
  /** All that the terminal was sent. */
  said(): string;
  /** Until it was sent this. */
  shows(pattern: RegExp): Promise<void>;
  type(text: string): void;
  /** The exit code, as a shell has it: 128 and the signal. */
  ended: Promise<number | null>;
}

export interface TerminalOptions {
  columns: number;
  cwd: string;
  env: Record<string, string>;
  /** As on an older Node, which cannot replace itself: the process that was typed stays as the parent, and passes signals on. */
  isOldNode?: boolean;
}

const quoted = (text: string) => `'${text.replaceAll("'", "'\\''")}'`;

/** `quarterdeck …` on a pseudo-terminal of this width, which `script` of util-linux makes: what is typed goes through its line discipline. */
export function onTerminal(t: TestContext, args: string[], { columns, cwd, env, isOldNode = false }: TerminalOptions): OnTerminal {
  const flags = isOldNode ? ['--import', 'data:text/javascript,process.execve=undefined'] : [];
  const command = [process.execPath, ...flags, join(root, 'quarterdeck'), ...args].map(quoted).join(' ');
  const child = spawn('script', ['-qec', `stty cols ${columns} rows 40; exec ${command}`, '/dev/null'], {
    cwd,
    env: { PATH: process.env['PATH']!, SHELL: '/bin/sh', TERM: 'xterm', HOME: cwd, ...compileCache, ...env },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  t.after(() => child.kill('SIGKILL'));
  let said = '';
  child.stdout.setEncoding('utf8').on('data', (text) => (said += text));
  child.stdin.on('error', () => {}); // it has ended
  const ended = new Promise<number | null>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', resolve);
  });
  let isOver = false;
  void ended.finally(() => (isOver = true));
  return {
    said: () => said,
    async shows(pattern) {
      await eventually(async () => isOver || pattern.test(said), { withinMs: 60_000 });
      if (!pattern.test(said)) throw new Error(`the terminal never showed ${pattern}, but:\n${said}`);
    },
    type: (text) => child.stdin.write(text),
    ended,
  };
}

/** The lines as they stand in the end: what was drawn over is gone, and so are colours. */
export const linesOf = (said: string): string[] =>
  said.split('\r\n').map((line) => stripVTControlCharacters(line.split('\r\u001b[K').at(-1)!));
