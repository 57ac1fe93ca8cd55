/** A sleep that can be ended from outside. A nudge that comes while nobody sleeps ends the next sleep at once: none is lost. */
export interface Nudge {
  nudge(): void;
  sleep(ms: number): Promise<void>;
}

export function makeNudge(): Nudge {
  let pending = false;
  let end: (() => void) | undefined;
  return {
    nudge: () => {
      pending = true;
      end?.();
    },
    sleep: async (ms) => {
      if (!pending) {
        await new Promise<void>((resolve) => {
          const timer = setTimeout(resolve, ms);
          end = () => {
            clearTimeout(timer);
            resolve();
          };
        });
        end = undefined;
      }
      pending = false;
    },
  };
}
