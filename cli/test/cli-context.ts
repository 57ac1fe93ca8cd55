import { AsyncLocalStorage } from 'node:async_hooks';
import type { Command } from 'commander';
import { ownServer } from '../../src/commands/own-server.ts';
import { build as version } from '../../src/kernel/version.ts';
import { exitCodes } from '../exit.ts';
import { registerUser } from '../index.ts';
import { makeProgram } from '../program.ts';
import { elsewhere, type Ran, type RunOptions } from './support.ts';

const saying = new AsyncLocalStorage<Ran>();

/** What is written on behalf of a command is its own; the rest goes where it always goes. */
function overhear(): () => void {
  const { write } = process.stdout;
  const { error } = console;
  const listeners = process.stdout.listeners('error');
  const writeOn = write.bind(process.stdout) as (...given: unknown[]) => boolean;
  process.stdout.write = ((...given: unknown[]) => {
    const ran = saying.getStore();
    if (!ran) return writeOn(...given);
    ran.stdout += String(given[0]);
    return true;
  }) as typeof write;
  console.error = (...words: unknown[]) => {
    const ran = saying.getStore();
    if (ran) ran.stderr += `${words.join(' ')}\n`;
    else error(...words);
  };
  return () => {
    process.stdout.write = write;
    console.error = error;
    for (const listener of process.stdout.listeners('error'))
      if (!listeners.includes(listener)) process.stdout.off('error', listener as () => void);
  };
}

/** As main.ts has it. */
function makeProgramHere(ran: Ran, env: NodeJS.ProcessEnv): Command {
  const program = makeProgram(version).configureOutput({
    writeOut: (text) => (ran.stdout += text),
    writeErr: (text) => (ran.stderr += text),
  });
  registerUser(program, { env, version, server: ownServer });
  return program;
}

/** What main.ts makes of errors. */
function endWith(ran: Ran, error: { code?: string; exitCode?: number; message: string }): number {
  if (error.code?.startsWith('commander.')) return error.exitCode === 0 ? 0 : exitCodes.usage;
  if (error.exitCode === undefined) throw error;
  ran.stderr += `quarterdeck: ${error.message}\n`;
  return error.exitCode;
}

/**
 * A user's command in this process, at a tenth of the price of one of its own: for tables of cases, of each kind of which one is tried as a
 * process too. One at a time, since the environment is the process's.
 */
export async function runHere(args: string[], { env = {}, cwd = elsewhere }: Pick<RunOptions, 'env' | 'cwd'> = {}): Promise<Ran> {
  const ran: Ran = { code: 0, stdout: '', stderr: '' };
  const before = { env: { ...process.env }, cwd: process.cwd() };
  const restore = overhear();
  for (const name of Object.keys(process.env)) if (name.startsWith('QUARTERDECK_')) delete process.env[name];
  Object.assign(process.env, env);
  process.chdir(cwd);
  try {
    await saying.run(ran, () => makeProgramHere(ran, env).parseAsync(args, { from: 'user' }));
  } catch (error) {
    ran.code = endWith(ran, error as Error);
  } finally {
    restore();
    process.chdir(before.cwd);
    for (const name of Object.keys(env)) delete process.env[name];
    Object.assign(process.env, before.env);
  }
  return ran;
}

/** The command line of somebody: their server, their token. */
export const cliHere =
  (url: string, key: string) =>
  (...args: string[]) =>
    runHere(args, { env: { QUARTERDECK_URL: url, QUARTERDECK_TOKEN: key } });
