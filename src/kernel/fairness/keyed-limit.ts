/** A bound on concurrent holders, for each key and in total. It never queues. */
export interface KeyedLimit {
  /** The function that releases the place; undefined when the key or the total is at its limit. */
  acquire(name: string): (() => void) | undefined;
  size(): number;
}

export function makeKeyedLimit(limits: { each: number; all: number }): KeyedLimit {
  const counts = new Map<string, number>();
  let all = 0;
  return {
    size: () => all,
    acquire: (name) => {
      const count = counts.get(name) ?? 0;
      if (count >= limits.each || all >= limits.all) return undefined;
      counts.set(name, count + 1);
      all++;
      let isIn = true;
      return () => {
        if (!isIn) return;
        isIn = false;
        all--;
        const left = counts.get(name)! - 1;
        if (left > 0) counts.set(name, left);
        else counts.delete(name);
      };
    },
  };
}
