import { setTimeout as sleep } from 'node:timers/promises';
import { tell } from '../../cli/tell.ts';
import { listNotedServers, type NotedServer } from '../boot/note-server.ts';
import type { ReloadOutcome } from '../boot/parent.ts';
import { exitCodes, Stop } from '../kernel/errors.ts';
import { isRunning } from '../kernel/programs/process.ts';
import { type OutputOptions, printJson } from './output.ts';
import { readSettings } from './session.ts';

const pollMs = 100;
/** Longer than the next server may take to load, and the one before it to leave. */
const maxWaitMs = 120_000;

interface Wanted extends OutputOptions {
  pid?: number;
}

/** Replaces the servers of this data directory by the program on disk, one after the other. */
export async function reloadServers({ json, pid }: Wanted): Promise<void> {
  const { data } = readSettings();
  const servers = (await listNotedServers(data)).filter(({ parent }) => pid === undefined || parent.pid === pid);
  if (servers.length === 0)
    throw new Stop(
      exitCodes.refused,
      `no server of \`quarterdeck serve\` runs on ${data} here; run this on its machine, in its container, and with its QUARTERDECK_DATA`,
    );
  const outcomes: ReloadOutcome[] = [];
  for (const server of servers) {
    const outcome = await reload(data, server);
    outcomes.push(outcome);
    if (!json) tell(outcome.sentence);
    if (!outcome.isDone) break; // the others run on as they are
  }
  if (json) printJson(outcomes.map(({ isDone, sentence }) => ({ isDone, sentence })));
  if (outcomes.some(({ isDone }) => !isDone)) process.exitCode = exitCodes.refused;
}

async function reload(dataDir: string, { parent, reload: last }: NotedServer): Promise<ReloadOutcome> {
  try {
    process.kill(parent.pid, 'SIGUSR2');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new Stop(
      exitCodes.refused,
      `the server (pid ${parent.pid}) cannot be told (${code}); run this as the user that runs it, or as root`,
    );
  }
  const until = performance.now() + maxWaitMs;
  while (performance.now() < until) {
    await sleep(pollMs);
    const found = (await listNotedServers(dataDir)).find((server) => server.parent.pid === parent.pid);
    if (found?.reload && found.reload.number !== last?.number) return found.reload;
    if (!(await isRunning(parent)))
      throw new Stop(
        exitCodes.refused,
        `the server (pid ${parent.pid}) ended meanwhile; its log says why, and \`quarterdeck serve\` starts another`,
      );
  }
  throw new Stop(
    exitCodes.refused,
    `the server (pid ${parent.pid}) has not been replaced within ${maxWaitMs / 1_000} s; its log says more`,
  );
}
