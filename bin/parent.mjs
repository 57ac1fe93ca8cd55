// The parent of `quarterdeck serve`: starts the server, passes signals on, and starts another when it crashed. Plain JavaScript without
// dependencies, as small as a Node process can be: it lives as long as the server does.
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { constants } from 'node:os';
import { join } from 'node:path';

/** So many crashes within so long, and it gives up: a service manager, or a person, must look. */
const crashLimit = { count: 5, withinMs: 60_000 };
const backoff = { firstMs: 250, maxMs: 4_000 };
const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'];

/**
 * What a server says with these exit codes (src/kernel/errors.ts) may be over in a moment, if one was ready here before: the data directory or
 * the port still being given up by the one that crashed, a database that is away. At a first start they are told at once.
 */
const transientExitCodes = [3, 4, 6];

/** Where the server finds the end of a pipe that lasts as long as this process, and says that it is ready. */
const lifeline = 3;

/** An exception before any server was ready would come again: the operator reads it once, not five times. */
function isCrash({ code, signal, wasReady }, hasRun) {
  if (signal !== null) return true;
  return hasRun && (code === 1 || (!wasReady && transientExitCodes.includes(code)));
}

/** Runs the server until it ends by itself or is stopped; does not return. */
export async function superviseServer({ node, argv, env, cannotRun }) {
  const crashedAt = [];
  let child;
  let asked;
  let wake = () => {};
  for (const name of signals) {
    process.on(name, () => {
      asked ??= name;
      child?.kill(name);
      wake();
    });
  }
  let endedBy;
  let hasRun = false;
  for (;;) {
    const killsBefore = memoryKills();
    // Here is the place for listening sockets that outlive a server: opened once, handed to each as further descriptors.
    const stdio = ['inherit', 'inherit', 'inherit', 'pipe'];
    child = spawn(node, argv, {
      stdio,
      env: { ...env, QUARTERDECK_PARENT: String(lifeline), ...(endedBy && { QUARTERDECK_ENDED_BY: endedBy }) },
    });
    let wasReady = false;
    child.stdio[lifeline]
      .on('error', () => {})
      .on('data', () => {
        wasReady = true;
        hasRun = true;
      });
    const ended = await new Promise((resolve) => {
      child.once('error', cannotRun);
      child.once('exit', (code, signal) => resolve({ code, signal, wasReady }));
    });
    child = undefined;
    if (asked || !isCrash(ended, hasRun)) leave(ended);
    const now = performance.now();
    crashedAt.push(now);
    while (now - crashedAt[0] > crashLimit.withinMs) crashedAt.shift();
    endedBy = ended.signal === null ? undefined : nameEnd(ended.signal, memoryKills() > killsBefore);
    const how = endedBy ?? `exit code ${ended.code}`;
    if (crashedAt.length >= crashLimit.count) {
      process.stderr.write(
        `quarterdeck: the server crashed ${crashLimit.count} times within a minute, last with ${how}; not starting it again\n`,
      );
      leave({ code: ended.code || 1, signal: null });
    }
    const pauseMs = Math.min(backoff.firstMs * 2 ** (crashedAt.length - 1), backoff.maxMs);
    process.stderr.write(`quarterdeck: the server crashed (${how}); starting it again in ${pauseMs / 1000} s\n`);
    await new Promise((resolve) => {
      wake = resolve;
      setTimeout(resolve, pauseMs);
    });
    if (asked) leave({ code: 0, signal: null });
  }
}

/** A full heap aborts; the kernel kills for memory with the signal that people kill with, and counts it. */
function nameEnd(signal, isKilledForMemory) {
  if (signal === 'SIGKILL' && isKilledForMemory) return 'SIGKILL, for want of memory';
  return signal === 'SIGABRT' ? 'SIGABRT, as a full JavaScript heap does' : signal;
}

/** How many processes of our cgroup the kernel has killed for memory; 0 where it does not say. */
function memoryKills() {
  try {
    const own = /^0::(.*)$/m.exec(readFileSync('/proc/self/cgroup', 'utf8'))?.[1] ?? '/';
    return Number(/^oom_kill (\d+)$/m.exec(readFileSync(join('/sys/fs/cgroup', own, 'memory.events'), 'utf8'))?.[1] ?? 0);
  } catch {
    return 0;
  }
}

/** As the server did. The kernel gives process 1 of a container no signal of its own: there the exit code says it. */
function leave({ code, signal }) {
  for (const name of signals) process.removeAllListeners(name);
  if (signal) process.kill(process.pid, signal);
  process.exit(code ?? 128 + constants.signals[signal]);
}
