import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

// Processes that a run started and that outlive it. A process whose parent ends gets another parent, and nothing says any more where it
// came from. So the run notes its descendants every second, while their parents live. It misses a process only if that process starts and
// its parent ends between two looks. Linux alone tells.

const lookEveryMs = 1_000;

interface Seen {
  pid: number;
  parent: number;
  /** In ticks since the machine started: with the number, it names a process for good. */
  startedAt: string;
}

interface Descendant extends Seen {
  /** The test file that ran in its process then. */
  file: string | undefined;
}

export interface LeftRunning {
  pid: number;
  command: string;
  file: string | undefined;
}

export interface Descendants {
  /** From now on what this child of the run starts belongs to this file. */
  begin(child: number, file: string): void;
  /** Those that were there at the last look, by number. */
  known(): number[];
  /** Those that still run after this time. */
  left(withinMs: number): Promise<LeftRunning[]>;
}

export function watchDescendants(root = process.pid): Descendants {
  const known = new Map<number, Descendant>();
  const files = new Map<number, string>();
  const look = () => noteDescendants(root, known, files);
  const timer = setInterval(look, lookEveryMs).unref();
  return {
    begin: (child, file) => void files.set(child, file),
    known: () => [...known.keys()],
    async left(withinMs) {
      clearInterval(timer);
      look();
      for (const until = performance.now() + withinMs; ; await sleep(50)) {
        const left = [...known.values()].filter(isAlive);
        if (!left.length || performance.now() > until) return left.map(({ pid, file }) => ({ pid, command: commandOf(pid), file }));
      }
    },
  };
}

function noteDescendants(root: number, known: Map<number, Descendant>, files: ReadonlyMap<number, string>): void {
  const now = new Map(readProcesses().map((seen) => [seen.pid, seen]));
  const note = (seen: Seen): Descendant | undefined => {
    const before = known.get(seen.pid);
    if (before?.startedAt === seen.startedAt) return before;
    known.delete(seen.pid);
    const parent = now.get(seen.parent);
    const above = parent && seen.parent !== root ? note(parent) : undefined;
    if (seen.parent !== root && !above) return undefined;
    const noted = { ...seen, file: files.get(seen.parent) ?? above?.file };
    known.set(seen.pid, noted);
    return noted;
  };
  for (const seen of now.values()) note(seen);
  for (const [pid, { startedAt }] of known) if (now.get(pid)?.startedAt !== startedAt) known.delete(pid);
}

function readProcesses(): Seen[] {
  if (process.platform !== 'linux') return [];
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => readProcess(Number(name)) ?? []);
}

/** Undefined without such a process, and for a zombie. */
function readProcess(pid: number): Seen | undefined {
  const text = read(pid, 'stat');
  const [state, parent, ...rest] = text.slice(text.lastIndexOf(') ') + 2).split(' '); // proc_pid_stat(5)
  return !text || state === 'Z' ? undefined : { pid, parent: Number(parent), startedAt: rest[17]! };
}

const isAlive = ({ pid, startedAt }: Seen) => readProcess(pid)?.startedAt === startedAt;

const commandOf = (pid: number) => read(pid, 'cmdline').replaceAll('\0', ' ').trim().slice(0, 200);

function read(pid: number, name: string): string {
  try {
    return readFileSync(`/proc/${pid}/${name}`, 'utf8');
  } catch {
    return ''; // it has ended
  }
}
