import { cpus } from 'node:os';

/** Tells at each call in which share of the time since the last one the processors had nothing to do. */
export function makeIdleShare(): () => number {
  let before = spent();
  return () => {
    const now = spent();
    const [idle, all] = [now.idle - before.idle, now.all - before.all];
    before = now;
    return all ? idle / all : 0;
  };
}

/** By all processors since the machine started. What runs at a low priority is work as well. */
function spent(): { idle: number; all: number } {
  const times = cpus().map((processor) => processor.times);
  return { idle: sum(times.map(({ idle }) => idle)), all: sum(times.flatMap((each) => Object.values(each))) };
}

const sum = (numbers: number[]) => numbers.reduce((a, b) => a + b, 0);
