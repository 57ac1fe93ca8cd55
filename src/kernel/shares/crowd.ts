/** How many there are of each, and of all together. */
export interface Crowd {
  /** Undefined: there are too many already. Else one more, until the function is called. */
  enter(name: string): (() => void) | undefined;
  size(): number;
}

export function makeCrowd(most: { each: number; all: number }): Crowd {
  const counts = new Map<string, number>();
  let all = 0;
  return {
    size: () => all,
    enter: (name) => {
      const count = counts.get(name) ?? 0;
      if (count >= most.each || all >= most.all) return undefined;
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
