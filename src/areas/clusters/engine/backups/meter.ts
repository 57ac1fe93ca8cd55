const everyMs = 1_000;

/** Writes how many bytes were moved, at most once a second. A write that fails is left out: the number is for people who wait. */
export function makeMeter(write: (bytes: number) => Promise<unknown>) {
  let bytes = 0;
  let writtenAt = performance.now();
  let writing: Promise<unknown> | undefined;
  return {
    add(more: number) {
      bytes += more;
      if (writing || performance.now() - writtenAt < everyMs) return;
      writtenAt = performance.now();
      writing = write(bytes)
        .catch(() => {})
        .finally(() => {
          writing = undefined;
        });
    },
    async end() {
      await writing;
    },
  };
}
