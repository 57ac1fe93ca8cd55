import { readdirSync, readFileSync } from 'node:fs';

const mebibytes = (path: string, name: string) =>
  Number(new RegExp(`^${name}:\\s+(\\d+)`, 'm').exec(readFileSync(path, 'utf8'))![1]) / 1024;

/** Resident memory in MiB. */
export const residentOf = (pid: number) => mebibytes(`/proc/${pid}/status`, 'VmRSS');

/** A process's share of the machine's memory in MiB: what several use together is counted once. */
export const shareOf = (pid: number) => mebibytes(`/proc/${pid}/smaps_rollup`, 'Pss');

const fieldsOf = (pid: number | string): number[] => {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return text
      .slice(text.lastIndexOf(')') + 2)
      .split(' ')
      .map(Number);
  } catch {
    return []; // it has ended
  }
};

const childrenOf = (pid: number) =>
  readdirSync('/proc').flatMap((name) => (/^\d+$/.test(name) && fieldsOf(name)[1] === pid ? [Number(name)] : []));

/** Of a process and its children together. */
export const shareOfFamily = (pid: number) => [pid, ...childrenOf(pid)].reduce((sum, each) => sum + tryShare(each), 0);

const tryShare = (pid: number) => {
  try {
    return shareOf(pid);
  } catch {
    return 0;
  }
};

const ticksASecond = 100;

/** Processor time that a process has had, in seconds. */
export const processorOf = (pid: number) => ((fieldsOf(pid)[11] ?? 0) + (fieldsOf(pid)[12] ?? 0)) / ticksASecond;

/** With that of its children, those that have ended too. */
export const processorOfFamily = (pid: number) =>
  [pid, ...childrenOf(pid)].reduce((sum, each) => sum + processorOf(each), 0) +
  ((fieldsOf(pid)[13] ?? 0) + (fieldsOf(pid)[14] ?? 0)) / ticksASecond;
