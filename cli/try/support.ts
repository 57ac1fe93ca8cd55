import { setTimeout as sleep } from 'node:timers/promises';
import type { Command as Commander } from 'commander';
import type { Api } from '../../sdk/index.ts';
import { connectionOptions, defined, rootOptions } from '../command.ts';
import { commandName } from '../command-name.ts';
import { type CliContext, type Connection, type ConnectionOptions, call, findConnection } from '../connect.ts';
import { exitCodes, Failure } from '../exit.ts';
import { printable } from '../printable.ts';
import { forTerminal } from '../tell.ts';

/** What a `try` command works with. */
export interface Trial {
  api: Api;
  /** The server, without a slash at the end. */
  url: string;
  token: string;
  /** Whether the server was started with --try; else the user said --really. */
  isTry: boolean;
  /** One line of progress, for people. */
  say(line: string): void;
}

export interface TrialOptions {
  really?: boolean;
}

/** Adds `quarterdeck try <name>`: finds the server, refuses one in earnest, and runs the act with the API. */
export function addTrial<Options extends TrialOptions>(
  command: Commander,
  here: CliContext,
  act: (trial: Trial, options: Options) => Promise<void>,
): void {
  command.option('--really', 'also on a server that was not started with --try');
  for (const option of connectionOptions()) command.addOption(option);
  command.action(async (given: Options & ConnectionOptions) => {
    const local: CliContext = { ...here, server: () => here.server({ preferTry: true }) };
    const connection = await findConnection({ ...rootOptions(command), ...defined(given) }, local, { mayBeInUse: false });
    const isTry = await isTryServer(connection);
    if (!isTry && !given.really)
      throw new Failure(
        exitCodes.refused,
        `${connection.url} was not started with --try; start one with \`${commandName} serve --try\`, or add --really to make these things there`,
      );
    await call(connection, here, {}, (api) =>
      act(
        {
          api,
          url: connection.url,
          token: connection.token!,
          isTry,
          say: (line) => void process.stdout.write(`${forTerminal(printable(line), process.stdout)}\n`),
        },
        given,
      ),
    );
  });
}

const answerMs = 60_000;

/** A request beside the API: no redirect is followed, and no answer is one sentence. */
export async function fetchBeside(target: URL | string, init: RequestInit = {}, advice = 'run the command again'): Promise<Response> {
  try {
    return await fetch(target, { ...init, redirect: 'error', signal: AbortSignal.timeout(answerMs) });
  } catch {
    throw new Failure(exitCodes.unavailable, `no server answers at ${new URL(target).origin}; ${advice}`);
  }
}

async function isTryServer({ url }: Connection): Promise<boolean> {
  const answer = await fetchBeside(`${url}/try/about.json`, {}, `start one with \`${commandName} serve --try\``);
  const about: unknown = answer.ok ? await answer.json().catch(() => undefined) : undefined;
  return (about as { try?: unknown } | undefined)?.try === true;
}

const pollMs = 200;

/** Asks until the answer is there, with a word every few seconds. */
export async function waitFor<T>(trial: Trial, what: string, ask: () => Promise<T | undefined>, withinMs = 60_000): Promise<T> {
  const began = performance.now();
  let saidAt = began;
  for (;;) {
    const answer = await ask();
    if (answer !== undefined) return answer;
    const now = performance.now();
    if (now - began > withinMs)
      throw new Failure(exitCodes.unavailable, `${what} did not come within ${withinMs / 1000} s; run the command again to go on waiting`);
    if (now - saidAt > 3_000) {
      saidAt = now;
      trial.say(`  still waiting: ${what} (${Math.round((now - began) / 1000)} s)`);
    }
    await sleep(pollMs);
  }
}

/** The thing of this name, made if it is missing. */
export async function ensure<T>(
  trial: Trial,
  what: string,
  { find, make }: { find(): Promise<T | undefined>; make(): Promise<T> },
): Promise<T> {
  const known = await find();
  trial.say(known ? `✓ ${what} is there already` : `✓ making ${what}`);
  return known ?? (await make());
}

/** A JSON page below /try, where the server has one. */
export async function readTry<T>({ url, isTry }: Trial, path: string): Promise<T | undefined> {
  if (!isTry) return undefined;
  const answer = await fetchBeside(`${url}/try/${path}`);
  return answer.ok ? ((await answer.json()) as T) : undefined;
}
