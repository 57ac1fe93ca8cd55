import { writeSync } from 'node:fs';

/** For the last words of a process: the log is written later than it lives. A terminal that is gone does not change how it ends. */
export function sayLast(sentence: string): void {
  try {
    writeSync(2, `quarterdeck: ${sentence}\n`);
  } catch {
    // Nothing is left to say it to.
  }
}
