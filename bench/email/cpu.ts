import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** Seconds a process has used, and, of a postmaster, also what its children of before have. Ticks are hundredths of a second. */
function secondsOf(pid: number | string): { parent: number; own: number; ended: number } {
  const text = readFileSync(`/proc/${pid}/stat`, 'latin1');
  const fields = text
    .slice(text.lastIndexOf(')') + 2)
    .split(' ')
    .map(Number);
  return { parent: fields[1]!, own: (fields[11]! + fields[12]!) / 100, ended: (fields[13]! + fields[14]!) / 100 };
}

const postmasterOf = (dataDir: string): number => {
  const file = readdirSync(dataDir, { recursive: true, encoding: 'utf8' }).find((name) => name.endsWith('postmaster.pid'));
  return Number(readFileSync(join(dataDir, file!), 'latin1').split('\n')[0]);
};

/** CPU seconds of the program and of its PostgreSQL so far: comparable whatever else runs on the machine. */
export function readCpu(pid: number, dataDir: string): { node: number; postgres: number } {
  const postmaster = postmasterOf(dataDir);
  const own = secondsOf(postmaster);
  let postgres = own.own + own.ended;
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    try {
      const { parent, own } = secondsOf(name);
      if (parent === postmaster) postgres += own;
    } catch {
      // It ended meanwhile; the postmaster has its time.
    }
  }
  return { node: secondsOf(pid).own, postgres };
}
