import { exitCodes, Stop } from '../errors.ts';
import { isSameNamespace, type LockHolder } from './lock-holder.ts';

const remedy = 'stop that one first, or give this one another directory with QUARTERDECK_DATA';

/** The error for a data directory that another server uses. */
export function alreadyRunning(dataDir: string, holder: LockHolder | undefined, own: LockHolder): Stop {
  if (!holder || holder.pid === 0) return new Stop(exitCodes.alreadyRunning, `Quarterdeck is already running on ${dataDir}; ${remedy}`);
  const { pid, host } = holder;
  if (isSameNamespace(holder, own)) return alreadyRunningHere(pid);
  return new Stop(
    exitCodes.alreadyRunning,
    `Quarterdeck is already running on ${dataDir} as pid ${pid} of ${host}, in another container or on another machine; ${remedy}`,
  );
}

/** The same for a server whose process is visible from here. */
export function alreadyRunningHere(pid: number): Stop {
  const who = pid > 0 ? `as pid ${pid}` : 'in another process';
  return new Stop(exitCodes.alreadyRunning, `Quarterdeck is already running here ${who}; ${remedy}`);
}
