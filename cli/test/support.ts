import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { answering } from '../../sdk/test/servers.ts';
import { compileCache, quickFlags } from '../../test/harness/quick-start.ts';

const main = fileURLToPath(new URL('../../src/main.ts', import.meta.url));
/** An empty directory. */
export const elsewhere = mkdtempSync(join(tmpdir(), 'qdc-'));
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
  cwd?: string;
}

/** `quarterdeck …` as a process of its own, in an empty directory, with nothing in its environment but what is given. */
export function run(args: string[], { env = {}, input = '', nodeFlags = [], cwd = elsewhere }: RunOptions = {}): Promise<Ran> {
  const child = spawn(process.execPath, [...quickFlags, ...nodeFlags, main, ...args], {
    cwd,
    env: { PATH: process.env['PATH']!, ...compileCache, ...env },
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

const nothing = (response: ServerResponse) => response.writeHead(200, { 'content-type': 'application/json' }).end('{"tokens":[]}');

/** Some server, with an origin of its own, and the tokens that arrived there: '' for a request without one. */
export async function recording(t: TestContext, answer = nothing): Promise<{ url: string; host: string; arrived: string[] }> {
  const arrived: string[] = [];
  const url = await answering(t, (request, response) => {
    arrived.push(request.headers.authorization ?? '');
    answer(response);
  });
  return { url, host: new URL(url).host, arrived };
}
