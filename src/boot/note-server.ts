import { mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Logger } from '../kernel/log.ts';
import { isRunning, markOf, type ProcessMark } from '../kernel/programs/process.ts';
import { build } from '../kernel/version.ts';
import type { Parent, ReloadOutcome } from './parent.ts';

// Each running server notes its parent process in `servers/` of its data directory: `quarterdeck admin reload` finds it there, and how the
// reload ended. A killed server leaves its note, which names a process that is gone.

/** A running server, as other processes on its data directory find it. */
export interface NotedServer {
  parent: ProcessMark;
  build: string;
  /** The last one, if there was any. */
  reload?: ReloadOutcome;
}

const folderOf = (dataDir: string) => join(dataDir, 'servers');

export interface ServerNote {
  remove(): Promise<void>;
}

/** A note that cannot be written is told in the log: the server is reloaded by SIGUSR2 then. */
export async function noteServer(dataDir: string, parent: Parent, log: Logger): Promise<ServerNote> {
  if (!parent.isApart) return { remove: async () => {} };
  const file = join(folderOf(dataDir), `${parent.pid}.json`);
  let last: Promise<void> = Promise.resolve();
  let mark: ProcessMark | undefined;
  const write = async (reload?: ReloadOutcome) => {
    mark ??= (await markOf(parent.pid)) ?? { pid: parent.pid, started: '' };
    await mkdir(folderOf(dataDir), { recursive: true, mode: 0o700 });
    const draft = `${file}.${process.pid}`;
    await writeFile(draft, JSON.stringify({ parent: mark, build, ...(reload && { reload }) } satisfies NotedServer), { mode: 0o600 });
    await rename(draft, file);
  };
  const note = (reload?: ReloadOutcome) => {
    last = last.then(() => write(reload)).catch((error) => log.warn({ err: error }, '`admin reload` does not find this server'));
    return last;
  };
  parent.onReloaded((outcome) => {
    if (outcome.isDone) log.info(outcome.sentence);
    else log.error(outcome.sentence);
    void note(outcome);
  });
  await note();
  return { remove: () => rm(file, { force: true }) };
}

/** The servers that run on this data directory. */
export async function listNotedServers(dataDir: string): Promise<NotedServer[]> {
  const folder = folderOf(dataDir);
  const found = await Promise.all((await readdir(folder).catch(() => [])).map((name) => readNote(join(folder, name))));
  const running = await Promise.all(found.map(async (server) => (server && (await isRunning(server.parent)) ? [server] : [])));
  return running.flat();
}

export async function readNote(file: string): Promise<NotedServer | undefined> {
  try {
    const found = JSON.parse(await readFile(file, 'utf8')) as Partial<NotedServer>;
    return typeof found.parent?.pid === 'number' && typeof found.parent.started === 'string' && typeof found.build === 'string'
      ? (found as NotedServer)
      : undefined;
  } catch {
    return undefined; // removed meanwhile, or not ours
  }
}
