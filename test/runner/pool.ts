import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { quickFlags } from '../harness/quick-start.ts';
import { makeIdleShare } from './idle.ts';
import type { Told } from './told.ts';

// Test files share processes: to load the product costs a second of CPU each time, and its first start in a process another. A file
// that measures or changes what belongs to the whole process says so in its first line, `// alone: <why>`, and gets one of its own.
// Whatever happens to a process, every file ends with a result: a file whose process dies or falls silent has failed.

export interface Pool {
  /** In the order in which they are begun. */
  files: string[];
  /** So many processes side by side. */
  lanes: number;
  /** And further ones up to so many, each time the processors have had little to do: a file that waits leaves them to others. */
  lanesAtMost?: number;
  /** In which share of the time since the last call the processors had nothing to do. */
  idleShare?: () => number;
  lookEveryMs?: number;
  /** No file shares its process, whatever it says. */
  isEachAlone: boolean;
  env: Record<string, string>;
  /** For one test. */
  timeoutMs: number;
  /** So long may what a file has closed take to be gone. */
  goneWithinMs?: number;
  /** Nothing more is begun, and what runs is ended. */
  stop: AbortSignal;
  tell(told: Told): void;
}

/** A process that has run so many files is replaced by a new one, so that nothing grows without bound. */
const filesAProcess = 100;

/** The processors have had little to do when they rested in so much of the time. A sixth of a run was idle when this was 0.15. */
const leastIdle = 0.05;

export async function runFiles({ files, lanes, lanesAtMost = lanes, isEachAlone, idleShare, lookEveryMs, ...rest }: Pool): Promise<void> {
  const queue = [...files];
  const next = () => (rest.stop.aborted ? undefined : queue.shift());
  const lane = async (turn?: () => Promise<void>) => {
    let shared: Runner | undefined;
    for (;;) {
      await turn?.();
      const file = next();
      if (!file) break;
      if (isEachAlone || isAlone(file)) {
        const own = startRunner(rest);
        await own.run(file);
        await own.end();
        continue;
      }
      shared ??= startRunner(rest, roomForGarbage);
      const { isUsable, wasBegun } = await shared.run(file);
      if (!wasBegun) queue.unshift(file);
      if (isUsable && shared.ran < filesAProcess) continue;
      await shared.end();
      shared = undefined;
    }
    await shared?.end();
  };
  const turns = makeTurns({ idleShare, lookEveryMs });
  const further = Array.from({ length: lanesAtMost - lanes }, () => lane(turns.take));
  await Promise.all(Array.from({ length: lanes }, () => lane()));
  turns.end();
  await Promise.all(further);
}

/** Turns that are given one at a time, whenever the processors have had little to do; once they end, to whoever asks. */
function makeTurns({ idleShare = makeIdleShare(), lookEveryMs = 500 }: Partial<Pick<Pool, 'idleShare' | 'lookEveryMs'>>) {
  const waiting: (() => void)[] = [];
  let isOver = false;
  const timer = setInterval(() => idleShare() > leastIdle && waiting.shift()?.(), lookEveryMs);
  return {
    take: () => new Promise<void>((go) => (isOver ? go() : waiting.push(go))),
    end: () => {
      isOver = true;
      clearInterval(timer);
      for (const go of waiting.splice(0)) go();
    },
  };
}

/**
 * Every test makes servers that are garbage when it ends. With room for several of them, the collector finds them dead and copies nothing;
 * with Node's own 16 MiB it moves each to where it stays until everything is looked at. A file that is alone may measure: it has Node's own.
 */
const roomForGarbage = ['--min-semi-space-size=64', '--max-semi-space-size=64'];

const isAlone = (file: string) => /^\/\/ alone: \S/.test(readFileSync(file, 'utf8'));

interface Runner {
  ran: number;
  run(file: string): Promise<{ wasBegun: boolean; isUsable: boolean }>;
  end(): Promise<void>;
}

function startRunner(
  { env, timeoutMs, goneWithinMs = 10_000, stop, tell }: Pick<Pool, 'env' | 'timeoutMs' | 'goneWithinMs' | 'stop' | 'tell'>,
  flags: string[] = [],
): Runner {
  const reporter = ['--test-reporter', join(import.meta.dirname, 'tell.ts'), '--test-reporter-destination', 'stdout'];
  const program = ['--import', join(import.meta.dirname, 'following.ts'), join(import.meta.dirname, 'process.ts'), String(goneWithinMs)];
  const child = spawn(process.execPath, [...quickFlags, ...flags, `--test-timeout=${timeoutMs}`, ...reporter, ...program], {
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    env: { ...process.env, ...env },
  });
  const kill = () => child.kill();
  stop.addEventListener('abort', kill);
  const exited = once(child, 'exit').then(([code, signal]) => {
    stop.removeEventListener('abort', kill);
    return `ended with ${signal ?? `code ${code}`}`;
  });
  // A test that takes too long is ended by the process itself; this is for a process that no longer gets to it.
  const silentAfterMs = timeoutMs * 1.5;
  const past: string[] = [];

  const run: Runner['run'] = async (file) => {
    let wasBegun = false;
    let isHung = false;
    const underWay = new Set<string>();
    const hung = setTimeout(() => {
      isHung = true;
      child.kill('SIGKILL');
    }, silentAfterMs);
    const ended = new Promise<Told & { type: 'ended' }>((resolve) => {
      child.on('message', function hear(told: Told) {
        hung.refresh();
        wasBegun = true;
        if (told.type === 'started') underWay.add(told.name);
        if (told.type === 'passed' || told.type === 'failed') underWay.delete(told.name);
        tell(told);
        if (told.type !== 'ended') return;
        child.off('message', hear);
        resolve(told);
      });
    });
    child.send({ file }, () => {}); // if it cannot be sent, the process has ended
    const last = await Promise.race([ended, exited]);
    clearTimeout(hung);
    if (typeof last !== 'string') {
      past.push(file);
      return { wasBegun, isUsable: !last.isSpoiled };
    }
    // What ended it before the file was even begun is something that the file before it has left.
    const culprit = wasBegun ? file : (past.at(-1) ?? file);
    const how = isHung ? `was silent for ${silentAfterMs / 1000} s and was killed` : last;
    const during = underWay.size ? ` during ${[...underWay].map((name) => `“${name}”`).join(', ')}` : '';
    const company = past.length ? `; it had run ${past.join(' ')}` : '';
    tell({ type: 'failed', file: culprit, name: culprit, at: culprit, error: `its process ${how}${during}${company}` });
    return { wasBegun: wasBegun || culprit === file, isUsable: false };
  };

  return {
    get ran() {
      return past.length;
    },
    run,
    end: async () => {
      if (child.connected) child.disconnect();
      const late = setTimeout(() => child.kill('SIGKILL'), 10_000);
      await exited;
      clearTimeout(late);
    },
  };
}
