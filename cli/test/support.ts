import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { answering } from '../../sdk/test/servers.ts';
import { mainProgram, sourceProgram } from '../../test/harness/built.ts';
import { compileCache, quickFlags } from '../../test/harness/quick-start.ts';

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

export interface Running {
  child: ChildProcess;
  /** What its standard error says, once that holds the pattern. */
  said(pattern: RegExp): Promise<RegExpExecArray>;
  ended: Promise<Ran>;
}

/** `quarterdeck …` as a process of its own, in an empty directory, with nothing in its environment but what is given. */
export function begin(args: string[], { env = {}, input = '', nodeFlags = [], cwd = elsewhere }: RunOptions = {}): Running {
  // What hooks imports needs the sources.
  const main = nodeFlags.length ? sourceProgram : mainProgram();
  const child = spawn(process.execPath, [...quickFlags, ...nodeFlags, main, ...args], {
    cwd,
    env: { PATH: process.env['PATH']!, ...compileCache, ...env },
  });
  const ran: Ran = { code: null, stdout: '', stderr: '' };
  child.stdout.on('data', (chunk) => (ran.stdout += chunk));
  child.stderr.on('data', (chunk) => (ran.stderr += chunk));
  child.stdin.end(input);
  const ended = new Promise<Ran>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code) => resolve({ ...ran, code }));
  });
  const said = (pattern: RegExp) =>
    new Promise<RegExpExecArray>((resolve, reject) => {
      const look = () => {
        const found = pattern.exec(ran.stderr);
        if (found) resolve(found);
      };
      child.stderr.on('data', look);
      ended.then(() => reject(new Error(`it ended without saying ${pattern}: ${ran.stderr}`)), reject);
      look();
    });
  return { child, said, ended };
}

/** The same, once it has ended. */
export const run = (args: string[], options: RunOptions = {}): Promise<Ran> => begin(args, options).ended;

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
