import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from '../../../../../kernel/log.ts';
import { ownEnvironment, passLine } from '../../../../../kernel/programs/own.ts';
import { environmentOf, type ProberSettings, proberProgram } from '../../../../../protocols/prober-settings.ts';

/** The prober's child process: restarted with growing backoff when it dies. */
export interface Prober {
  readonly pid: number | undefined;
  stop(): Promise<void>;
}

const backoff = { firstMs: 500, maxMs: 30_000, healthyMs: 60_000 };
const graceMs = 5_000;

export function startProber(settings: ProberSettings, log: Logger): Prober {
  const stopping = new AbortController();
  let child: ChildProcess | undefined;

  const runOnce = async () => {
    const started = spawn(process.execPath, [proberProgram], {
      env: { ...ownEnvironment(), ...environmentOf(settings) },
      stdio: ['pipe', 'ignore', 'pipe'], // a pipe as stdin: it closes when this server is killed, and the prober ends
    });
    child = started;
    createInterface({ input: started.stderr! }).on('line', (line) => passLine(log, 'the local prober', line));
    started.stdin!.on('error', () => {});
    const [code, signal] = await once(started, 'exit').catch((error) => [String(error), null]);
    child = undefined;
    if (!stopping.signal.aborted) log.error({ code, signal }, 'the local prober ended; it is started again');
  };

  const loop = async () => {
    for (let pause = backoff.firstMs; !stopping.signal.aborted; pause = Math.min(pause * 2, backoff.maxMs)) {
      const began = performance.now();
      await runOnce();
      if (performance.now() - began > backoff.healthyMs) pause = backoff.firstMs;
      await sleep(pause, undefined, { signal: stopping.signal }).catch(() => {});
    }
  };

  const ended = loop();
  return {
    get pid() {
      return child?.pid;
    },
    stop: async () => {
      stopping.abort();
      const last = child;
      last?.kill('SIGTERM');
      const late = setTimeout(() => last?.kill('SIGKILL'), graceMs);
      await ended.finally(() => clearTimeout(late));
    },
  };
}
