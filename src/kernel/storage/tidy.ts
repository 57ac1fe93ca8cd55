const everyBytes = 8 * 1024 * 1024;
let passed = 0;

/**
 * Node puts every 64 KiB that arrive into a buffer of their own. The collector sees a small object each and lets a hundred megabytes
 * of them gather before it looks; asked to look at the young ones now and then, it keeps 50 uploads within 40 MiB.
 * Only with --expose-gc, as the program is started: without it, memory is the only thing that differs.
 */
export function tidyAfter(bytes: number): void {
  passed += bytes;
  if (passed < everyBytes) return;
  passed = 0;
  void globalThis.gc?.({ type: 'minor' });
}
