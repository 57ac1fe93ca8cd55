import type { Task } from './worker.ts';

/** Messages waiting for a thread, by organization: choosing the next one costs the number of organizations, not of messages. */
export interface TaskQueue {
  add(task: Task): void;
  /** The organization with the smallest measure below `limit`; ties go to the longest wait. */
  find(measure: (org: string) => number, limit: number): string | undefined;
  /** Removes the oldest task of an organization. */
  take(org: string): Task;
  /** Removes all tasks of matching organizations. */
  takeAll(matches: (org: string) => boolean): Task[];
}

export function makeTaskQueue(): TaskQueue {
  const byOrg = new Map<string, { task: Task; n: number }[]>();
  let sequence = 0;
  return {
    add(task) {
      const entry = { task, n: sequence++ };
      const entries = byOrg.get(task.org);
      if (entries) entries.push(entry);
      else byOrg.set(task.org, [entry]);
    },
    find(measure, limit) {
      let found: { org: string; measured: number; n: number } | undefined;
      for (const [org, [first]] of byOrg) {
        const measured = measure(org);
        if (measured >= limit) continue;
        if (!found || measured < found.measured || (measured === found.measured && first!.n < found.n))
          found = { org, measured, n: first!.n };
      }
      return found?.org;
    },
    take(org) {
      const entries = byOrg.get(org)!;
      const { task } = entries.shift()!;
      if (entries.length === 0) byOrg.delete(org);
      return task;
    },
    takeAll(matches) {
      return [...byOrg].flatMap(([org, entries]) => {
        if (!matches(org)) return [];
        byOrg.delete(org);
        return entries.map(({ task }) => task);
      });
    },
  };
}
