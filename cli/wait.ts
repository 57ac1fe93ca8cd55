import { setTimeout as sleep } from 'node:timers/promises';
import { type Api, ApiError, UnreachableError } from '../sdk/index.ts';
import { readThings, type Watch } from '../sdk/things.ts';
import { commandName } from './command-name.ts';
import { exitCodes, Failure, usage } from './exit.ts';
import { describe, typed } from './feedback.ts';
import { isObject } from './fields.ts';
import { untilInterrupted } from './interrupt.ts';
import { escaped, type Found } from './names/find.ts';
import { ask, type Item } from './names/operations.ts';
import { clearStatus, drawStatus, isTerminal } from './status-line.ts';
import { durationMs, shortAge } from './units.ts';

export interface Waiting {
  api: Api;
  watch: Watch;
  what: Found;
  /** Until it is not there any more. */
  isGone: boolean;
  /** Fields that it must have when it is done: the version that an upgrade goes to. */
  wanted: Item;
  /** A failure that was there before the command is not its outcome. */
  mayBeStale: boolean;
  timeoutMs: number;
}

const defaultTimeout = '10m';
const pollMs = 1000;
const lookTimeoutMs = 15_000;
/** How long a server may be away before the watch is given up. */
const maxOutageMs = 60_000;
const nudgeEveryMs = 15_000;
const staleMs = 15_000;
const spinner = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];

export function timeoutOf(text: string | undefined): number {
  const ms = durationMs(text ?? defaultTimeout);
  return ms && ms > 0 ? ms : usage(`--timeout takes a duration such as 30s, 10m or 2h, found "${text}"`);
}

/** Watches a thing until it is done, and answers with what the last look showed. */
export async function waitFor(waiting: Waiting): Promise<unknown> {
  const progress = makeProgress(waiting);
  try {
    return await untilInterrupted(`the work goes on; ${howToLook(waiting)}`, (signal) => watchUntilDone(waiting, progress, signal));
  } finally {
    progress.end();
  }
}

async function watchUntilDone(waiting: Waiting, progress: Progress, signal: AbortSignal): Promise<unknown> {
  const { watch, what, isGone, timeoutMs } = waiting;
  const began = performance.now();
  const age = () => performance.now() - began;
  let lostAt: number | undefined;
  let nudgedAt = age();
  for (;;) {
    const seen = await look(waiting, signal);
    if (seen.lost) {
      lostAt ??= age();
      progress.lost(seen.lost);
      if (age() - lostAt > maxOutageMs || age() > timeoutMs)
        throw new Failure(exitCodes.unavailable, `given up: ${escaped(seen.lost)}; the work goes on; ${howToLook(waiting)}`);
    } else {
      lostAt = undefined;
      if (seen.isMissing) {
        if (isGone) return undefined;
        throw new Failure(exitCodes.notFound, `${describe(wordOf(watch), what)} is not there any more`);
      }
      const state = String(seen.item?.[watch.state] ?? 'unknown');
      progress.state(state);
      if (!isGone && watch.done.includes(state) && hasAll(seen.item!, waiting.wanted)) return seen.answer;
      const isOutcome = !isGone && (!waiting.mayBeStale || age() > Math.min(staleMs, timeoutMs));
      if (isOutcome && watch.failed.includes(state)) throw new Stopped(failure(waiting, state, seen.item!), seen.answer);
    }
    if (age() > timeoutMs)
      throw new Failure(exitCodes.timedOut, `not done within ${shortAge(timeoutMs + 500)}; the work goes on; ${howToLook(waiting)}`);
    if (watch.nudge && age() - nudgedAt > nudgeEveryMs) {
      nudgedAt = age();
      // A refusal means that a check was made a moment ago, or that the caller may only look.
      await ask(waiting.api, watch.nudge, [what.id], {}, { signal }).catch(() => signal.throwIfAborted());
    }
    await sleep(Math.min(pollMs * (age() > 60_000 ? 3 : 1), Math.max(0, timeoutMs - age()) + 50), undefined, { signal });
  }
}

/** It failed: the last look is printed before the command ends. */
export class Stopped extends Failure {
  readonly answer: unknown;

  constructor(sentence: string, answer: unknown) {
    super(exitCodes.failed, sentence);
    this.answer = answer;
  }
}

function failure({ watch, what }: Waiting, state: string, item: Item): string {
  const reason = watch.reason ? item[watch.reason] : undefined;
  return `${describe(wordOf(watch), what)} is ${escaped(state)}${typeof reason === 'string' && reason ? `: ${escaped(reason)}` : ''}`;
}

interface Look {
  answer?: unknown;
  item?: Item;
  isMissing?: boolean;
  /** No answer, in words. */
  lost?: string;
}

async function look({ api, watch, what }: Waiting, signal: AbortSignal): Promise<Look> {
  try {
    const within = AbortSignal.any([signal, AbortSignal.timeout(lookTimeoutMs)]);
    const answer = (await ask(api, watch.look, watch.among ? [] : [what.id], {}, { signal: within })) as Item;
    const held = watch.at ? answer[watch.at] : answer;
    const item = watch.among ? (held as Item[]).find(({ id }) => String(id) === what.id) : held;
    return isObject(item) ? { answer, item } : { isMissing: true };
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof ApiError && error.status === 404) return { isMissing: true };
    if (error instanceof UnreachableError || (error as Error).name === 'TimeoutError') return { lost: (error as Error).message };
    if (error instanceof ApiError && (error.status >= 500 || error.status === 429)) return { lost: error.message };
    throw error;
  }
}

const hasAll = (item: Item, wanted: Item) => Object.entries(wanted).every(([name, value]) => item[name] === value);

const wordOf = ({ thing }: Watch) => readThings().things[thing]!.word;

const howToLook = ({ watch, what, isGone }: Waiting) =>
  `look with: ${commandName} ${watch.command}${watch.among ? '' : ` ${typed(what)}`}${isGone || watch.among ? '' : ' --wait'}`;

interface Progress {
  state(state: string): void;
  lost(why: string): void;
  end(): void;
}

/** A line that moves on a terminal; elsewhere a line for each change. */
function makeProgress({ watch, what }: Waiting): Progress {
  const began = performance.now();
  const title = `${wordOf(watch)} ${escaped(what.name ?? what.id)}`;
  let shown: string | undefined;
  let turn = 0;
  const draw = () => {
    turn = (turn + 1) % spinner.length;
    if (shown) drawStatus(`${spinner[turn]} ${title}: ${shown} (${shortAge(performance.now() - began)})`);
  };
  const timer = isTerminal() ? setInterval(draw, 120) : undefined;
  const change = (text: string) => {
    if (text === shown) return;
    shown = text;
    if (timer) draw();
    else console.error(`${title}: ${text} (${shortAge(performance.now() - began)})`);
  };
  return {
    state: (state) => change(escaped(state)),
    lost: (why) => change(`connection lost, trying again: ${escaped(why)}`),
    end() {
      clearInterval(timer);
      clearStatus();
      if (timer && shown) console.error(`${title}: ${shown} (${shortAge(performance.now() - began)})`);
    },
  };
}
