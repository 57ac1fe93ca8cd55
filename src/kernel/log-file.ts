import { fchmodSync, mkdirSync, openSync, renameSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { pino } from 'pino';
import { guarded } from './faults/guarded.ts';

// The log below the data directory, for `quarterdeck logs`. Bound: 5 files of 16 MiB, and 1 MiB that waits for a slow disk. The file is a
// copy: lines that it cannot take are on standard error all the same, so a full or slow disk never holds up the server.

const maxFileBytes = 16 * 2 ** 20;
const files = 5;
const maxWaitingBytes = 2 ** 20;
/** A file that could not be opened is tried again after this. */
const retryMs = 60_000;
/** Lines of a start, before the directory is known to be ours. */
const maxEarlyLines = 1_000;

type Sink = ReturnType<typeof pino.destination>;

export interface LogFile {
  /** A stream for the logger: each line goes to this descriptor and to the file. */
  beside(descriptor: number): NodeJS.WritableStream;
  /** Begins to write, with the lines so far. Once: later calls do nothing. */
  open(): void;
  write(line: string): void;
  /** Writes what waits. */
  flush(): void;
}

export function makeLogFile(dataDir: string, limits: { fileBytes?: number; waitingBytes?: number; retryMs?: number } = {}): LogFile {
  const dir = join(dataDir, 'log');
  const path = join(dir, 'quarterdeck.log');
  const { fileBytes = maxFileBytes, waitingBytes = maxWaitingBytes } = limits;
  let sink: Sink | undefined;
  let early: string[] | undefined = [];
  let written = 0;
  let isReopening = false;
  let retryAt = Number.POSITIVE_INFINITY;

  /** Without a rotation there would be no bound: nothing more is written to the old file. */
  const giveUp = () => {
    sink?.destroy();
    sink = undefined;
    isReopening = false;
    retryAt = performance.now() + (limits.retryMs ?? retryMs);
  };
  const open = () => {
    const lines = early ?? [];
    early = undefined;
    try {
      mkdirSync(dir, { recursive: true, mode: 0o700 });
      written = sizeOf(path);
      // Opened here and now: an exit right after must find it ready to be flushed.
      const fd = openSync(path, 'a', 0o600);
      fchmodSync(fd, 0o600); // a copied directory may have made it readable
      sink = pino.destination({ dest: fd, sync: false, mode: 0o600, maxLength: waitingBytes });
      Object.assign(sink, { file: path }); // without it a sink of a descriptor refuses to reopen
      sink.on(
        'error',
        guarded('kernel.log-file.error', undefined, () => {
          if (isReopening) giveUp();
        }),
      );
      sink.on(
        'drop',
        guarded('kernel.log-file.drop', undefined, (line: string) => {
          // Rotation counts what is in the file: on a full disk dropped lines would move older ones away for empty files.
          written -= Buffer.byteLength(line);
        }),
      );
      sink.on(
        'ready',
        guarded('kernel.log-file.ready', undefined, () => {
          isReopening = false;
        }),
      );
    } catch {
      return giveUp(); // the disk is full or not ours to write: standard error has the lines
    }
    for (const line of lines) write(line);
  };
  const rotate = () => {
    written = 0;
    isReopening = true; // a second rotation before that would move away a file that is not there yet
    try {
      for (let age = files - 1; age > 0; age--) moveAside(nameOf(dir, age - 1), nameOf(dir, age));
      sink?.reopen(path);
    } catch {
      giveUp();
    }
  };
  const write = (line: string) => {
    if (early) return void (early.length < maxEarlyLines && early.push(line));
    if (!sink && performance.now() > retryAt) open();
    if (!sink) return;
    written += Buffer.byteLength(line);
    sink.write(line);
    if (written >= fileBytes && !isReopening) rotate();
  };
  return { beside: (descriptor) => writeBoth(descriptor, write), open: () => early && open(), write, flush: () => sink?.flushSync() };
}

/** Each line goes to this descriptor too, as long as it can be written to. */
function writeBoth(descriptor: number, write: (line: string) => void): NodeJS.WritableStream {
  const out = pino.destination({ fd: descriptor, sync: false });
  let isGone = false;
  out.on(
    'error',
    guarded('kernel.log-file.descriptor', undefined, ({ code }: NodeJS.ErrnoException) => {
      if (code !== 'EIO' && code !== 'EPIPE') return;
      isGone = true; // a terminal that closed, or a reader that left
      out.destroy(); // at the exit it would try to write for ever
    }),
  );
  const both = (line: string) => {
    write(line);
    return isGone || out.write(line);
  };
  return { write: both } as unknown as NodeJS.WritableStream;
}

/** The current file has no number, older ones count up: quarterdeck.log, quarterdeck.1.log … quarterdeck.4.log. */
const nameOf = (dir: string, age: number) => join(dir, age === 0 ? 'quarterdeck.log' : `quarterdeck.${age}.log`);

const sizeOf = (path: string) => statSync(path, { throwIfNoEntry: false })?.size ?? 0;

function moveAside(from: string, to: string) {
  if (statSync(from, { throwIfNoEntry: false })) renameSync(from, to);
}
