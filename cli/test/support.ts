import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const main = fileURLToPath(new URL('../../src/main.ts', import.meta.url));
/** Compiled once for all test files: most of what a short command takes is compiling. */
const compiled = fileURLToPath(new URL('../../node_modules/.cache/quarterdeck', import.meta.url));
const elsewhere = mkdtempSync(join(tmpdir(), 'qdc-'));
process.once('exit', () => rmSync(elsewhere, { recursive: true, force: true }));

export interface Ran {
  code: number | null;
  stdout: string;
  stderr: string;
}

export interface RunOptions {
  env?: Record<string, string>;
  input?: string;
  nodeFlags?: string[];
}

/** `quarterdeck …` as a process of its own, in an empty directory, with nothing in its environment but what is given. */
export function run(args: string[], { env = {}, input = '', nodeFlags = [] }: RunOptions = {}): Promise<Ran> {
  const child = spawn(process.execPath, [...nodeFlags, main, ...args], {
    cwd: elsewhere,
    env: { PATH: process.env['PATH']!, NODE_COMPILE_CACHE: compiled, ...env },
  });
  const ran: Ran = { code: null, stdout: '', stderr: '' };
  child.stdout.on('data', (chunk) => (ran.stdout += chunk));
  child.stderr.on('data', (chunk) => (ran.stderr += chunk));
  child.stdin.end(input);
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code) => resolve({ ...ran, code }));
  });
}

/** The command line of somebody: their server, their token. */
export const cliOf =
  (url: string, key: string) =>
  (...args: string[]) =>
    run(args, { env: { QUARTERDECK_URL: url, QUARTERDECK_TOKEN: key } });
