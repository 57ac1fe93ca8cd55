import { type ChildProcess, spawn } from 'node:child_process';
import type { Socket } from 'node:net';
import { fileURLToPath } from 'node:url';
import { guarded } from '../../../../kernel/faults/guarded.ts';
import type { Logger } from '../../../../kernel/log.ts';
import type { DialAnswer, DialRequest } from './dialer-program.ts';

// A small process in each namespace that connections were made from within the last minute.

export interface Dialers {
  connect(namespace: string, to: { address: string; port: number }, signal: AbortSignal): Promise<Socket>;
  end(namespace: string): void;
  stop(): Promise<void>;
}

/** Compiled in the npm package, a source elsewhere. */
const program = fileURLToPath(new URL(`./dialer-program${import.meta.url.endsWith('.ts') ? '.ts' : '.js'}`, import.meta.url));
const idleMs = 60_000;
const maxHeapMiB = 32;

interface Waiting {
  resolve(socket: Socket): void;
  reject(error: Error): void;
}

interface Dialer {
  child: ChildProcess;
  waiting: Map<number, Waiting>;
  timer: NodeJS.Timeout | undefined;
}

const failure = (code: string): NodeJS.ErrnoException => Object.assign(new Error(`connect ${code}`), { code });

export function makeDialers(log: Logger): Dialers {
  const dialers = new Map<string, Dialer>();
  let lastId = 0;

  const start = (namespace: string): Dialer => {
    const child = spawn('ip', ['netns', 'exec', namespace, process.execPath, `--max-old-space-size=${maxHeapMiB}`, program], {
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    });
    const dialer: Dialer = { child, waiting: new Map(), timer: undefined };
    dialers.set(namespace, dialer);
    const onAnswer = (answer: unknown, socket: unknown) => settle(dialer, answer as DialAnswer, socket as Socket | undefined);
    child.on('message', guarded('clusters.mesh.answer', undefined, onAnswer));
    const lose = (error?: Error) => {
      if (error) log.warn({ err: error, namespace }, 'connections of a mesh could not be made');
      if (dialers.get(namespace) === dialer) dialers.delete(namespace);
      clearTimeout(dialer.timer);
      for (const { reject } of dialer.waiting.values()) reject(failure('ENETUNREACH'));
      dialer.waiting.clear();
    };
    child.once('error', guarded('clusters.mesh.error', undefined, lose));
    child.once(
      'exit',
      guarded('clusters.mesh.exit', undefined, () => lose()),
    );
    child.unref();
    return dialer;
  };
  const end = (namespace: string) => {
    const dialer = dialers.get(namespace);
    dialers.delete(namespace);
    if (dialer?.child.connected) dialer.child.disconnect();
  };
  const endWhenIdle = (namespace: string, dialer: Dialer) => {
    clearTimeout(dialer.timer);
    dialer.timer = setTimeout(() => (dialer.waiting.size === 0 ? end(namespace) : undefined), idleMs).unref();
  };

  return {
    connect(namespace, to, signal) {
      const known = dialers.get(namespace);
      const dialer = known?.child.connected ? known : start(namespace);
      const id = ++lastId;
      endWhenIdle(namespace, dialer);
      return new Promise((resolve, reject) => {
        const abort = () => {
          dialer.waiting.delete(id);
          reject(signal.reason);
        };
        if (signal.aborted) return abort();
        signal.addEventListener('abort', abort, { once: true });
        const settled = () => signal.removeEventListener('abort', abort);
        dialer.waiting.set(id, {
          resolve: (socket) => {
            settled();
            resolve(socket);
          },
          reject: (error) => {
            settled();
            reject(error);
          },
        });
        dialer.child.send({ id, ...to } satisfies DialRequest, (error) => {
          if (error) dialer.waiting.get(id)?.reject(failure('ENETUNREACH'));
        });
      });
    },
    end,
    async stop() {
      for (const namespace of dialers.keys()) end(namespace);
    },
  };
}

/** A socket that the caller no longer waits for is closed. */
function settle({ waiting }: Dialer, { id, error }: DialAnswer, socket: Socket | undefined): void {
  const found = waiting.get(id);
  waiting.delete(id);
  socket?.setNoDelay(true);
  if (!found) return void socket?.destroy();
  if (socket && error === undefined) found.resolve(socket);
  else found.reject(failure(error ?? 'ECONNABORTED'));
}
