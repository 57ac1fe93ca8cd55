import { EventEmitter } from 'node:events';
import type { TestEvent } from 'node:test/reporters';
import type { Told } from './told.ts';

// The reporter inside a process that runs test files. There a file is a test as well, whose subtests are the file's own tests.

export const tell = (told: Told) => void process.send!(told);

/** Emits `reported` with the numbers of a file when the last of its tests has been told of. */
export const reports = new EventEmitter<{ reported: [{ tests: number; failed: number }] }>();

export default async function* report(source: AsyncIterable<TestEvent>): AsyncGenerator<string> {
  let file = '';
  let tests = 0;
  let failed = 0;
  for await (const { type, data } of source) {
    if (type === 'test:enqueue' && data.nesting === 0) [file, tests, failed] = [data.name, 0, 0];
    if (type === 'test:dequeue' && data.nesting > 0) tell({ type: 'started', file, name: data.name });
    if (type === 'test:pass' && data.nesting > 0 && data.details.type !== 'suite') {
      tests++;
      const skipped = data.skip ? { skipped: String(data.skip) } : {};
      tell({ type: 'passed', file, name: data.name, ms: data.details.duration_ms, ...skipped });
    }
    if (type === 'test:fail') {
      const { error } = data.details;
      const isOfItsTests = (error as { failureType?: string }).failureType === 'subtestsFailed';
      const isTest = data.nesting > 0 && data.details.type !== 'suite';
      if (isTest) tests++;
      // Of a file or a suite only what is not the failure of a test in it: an import or a hook.
      if (isTest || !isOfItsTests) {
        failed++;
        const at = data.nesting > 0 ? `${data.file ?? ''}:${data.line ?? ''}` : file;
        tell({ type: 'failed', file, name: data.name, at, error: wholeStory(error.cause ?? error) });
      }
    }
    if ((type === 'test:pass' || type === 'test:fail') && data.nesting === 0) reports.emit('reported', { tests, failed });
  }
  yield ''; // nothing for whoever reads its output
}

/** With what caused it, and what caused that. */
function wholeStory(error: unknown): string {
  const { stack, cause } = (error ?? {}) as Partial<Error>;
  return `${stack ?? String(error)}${cause ? `\ncaused by ${wholeStory(cause)}` : ''}`;
}
