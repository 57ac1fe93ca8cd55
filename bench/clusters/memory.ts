import { readdirSync, readFileSync } from 'node:fs';

const mebibytes = (path: string, name: string) =>
  Number(new RegExp(`^${name}:\\s+(\\d+)`, 'm').exec(readFileSync(path, 'utf8'))![1]) / 1024;

/** Resident memory in MiB. */
export const residentOf = (pid: number) => mebibytes(`/proc/${pid}/status`, 'VmRSS');

/** A process's share of the machine's memory in MiB: what several use together is counted once. */
export const shareOf = (pid: number) => mebibytes(`/proc/${pid}/smaps_rollup`, 'Pss');

const parentOf = (pid: string) => {
  try {
    return Number(readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]!.split(' ')[1]);
  } catch {
    return 0; // it has ended
  }
};

/** Of a process and its children together. */
export function shareOfFamily(pid: number): number {
  const children = readdirSync('/proc').filter((name) => /^\d+$/.test(name) && parentOf(name) === pid);
  return [pid, ...children.map(Number)].reduce((sum, each) => sum + tryShare(each), 0);
}

const tryShare = (pid: number) => {
  try {
    return shareOf(pid);
  } catch {
    return 0;
  }
};

/** Processor time that a process has had, in seconds. */
export function processorOf(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]!.split(' ');
  return (Number(fields[11]) + Number(fields[12])) / 100;
}
