import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from '../../../../../kernel/log.ts';
import { environmentOf, type ProberSettings, proberProgram } from '../../../../../protocols/prober-settings.ts';

/** The prober's child process: restarted with growing backoff when it dies. */
export interface Prober {
  readonly pid: number | undefined;
  stop(): Promise<void>;
}

const backoff = { firstMs: 500, maxMs: 30_000, healthyMs: 60_000 };
const graceMs = 5_000;

/** Only these variables are passed on: the prober needs neither the database nor any secret. */
const passedOn = ['NODE_COMPILE_CACHE', 'NODE_EXTRA_CA_CERTS', 'SSL_CERT_FILE', 'SSL_CERT_DIR', 'TZ'];
const ownEnvironment = () =>
  Object.fromEntries(passedOn.flatMap((name) => (process.env[name] === undefined ? [] : [[name, process.env[name]]])));

export function startProber(settings: ProberSettings, log: Logger): Prober {
  const stopping = new AbortController();
  let child: ChildProcess | undefined;

  const runOnce = async () => {
    const started = spawn(process.execPath, [proberProgram], {
      env: { ...ownEnvironment(), ...environmentOf(settings) },
      stdio: ['pipe', 'ignore', 'pipe'], // a pipe as stdin: it closes when this server is killed, and the prober ends
    });
    child = started;
    createInterface({ input: started.stderr! }).on('line', (line) => passLine(log, line));
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

const levels: Record<number, 'debug' | 'info' | 'warn' | 'error'> = { 20: 'debug', 30: 'info', 40: 'warn', 50: 'error', 60: 'error' };

/** Its log lines join this server's log; other output comes from the runtime. */
function passLine(log: Logger, line: string) {
  try {
    const { level, msg, time, pid, hostname, ...fields } = JSON.parse(line);
    log[levels[level as number] ?? 'info'](fields, String(msg));
  } catch {
    log.warn({ line: line.slice(0, 500) }, 'the local prober says');
  }
}
