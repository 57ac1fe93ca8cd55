import type { Task } from './threads.ts';

/** Who waits to be read: by organization, so that finding the next one costs no more the more of them there are. */
export interface Line {
  add(task: Task): void;
  /** Of whom there is least, if that is below `most`; the one who has waited longest otherwise. */
  find(measure: (org: string) => number, most: number): string | undefined;
  /** The first of an organization that waits. */
  take(org: string): Task;
  /** All of those organizations. */
  takeAll(isMeant: (org: string) => boolean): Task[];
}

export function makeLine(): Line {
  const byOrg = new Map<string, { task: Task; n: number }[]>();
  let came = 0;
  return {
    add(task) {
      const entry = { task, n: came++ };
      const mine = byOrg.get(task.org);
      if (mine) mine.push(entry);
      else byOrg.set(task.org, [entry]);
    },
    find(measure, most) {
      let found: { org: string; measured: number; n: number } | undefined;
      for (const [org, [first]] of byOrg) {
        const measured = measure(org);
        if (measured >= most) continue;
        if (!found || measured < found.measured || (measured === found.measured && first!.n < found.n))
          found = { org, measured, n: first!.n };
      }
      return found?.org;
    },
    take(org) {
      const mine = byOrg.get(org)!;
      const { task } = mine.shift()!;
      if (mine.length === 0) byOrg.delete(org);
      return task;
    },
    takeAll(isMeant) {
      return [...byOrg].flatMap(([org, mine]) => {
        if (!isMeant(org)) return [];
        byOrg.delete(org);
        return mine.map(({ task }) => task);
      });
    },
  };
}
