/** A sleep that `wake` ends. A `wake` between two sleeps ends the next one at once: none is lost. */
export interface InterruptibleSleep {
  wake(): void;
  sleep(ms: number): Promise<void>;
}

export function makeInterruptibleSleep(): InterruptibleSleep {
  let pending = false;
  let end: (() => void) | undefined;
  return {
    wake: () => {
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
