import { appendFileSync } from 'node:fs';
import { relative } from 'node:path';
import type { TestEvent } from 'node:test/reporters';

/** Failures whole, successes counted, and the closing line that says so. */
export default async function* report(source: AsyncIterable<TestEvent>): AsyncGenerator<string> {
  let passed = 0;
  let failed = 0;
  let skipped = 0;
  const began = performance.now();
  const slow: [string, number][] = [];
  const files = new Map<string, number>();
  for await (const { type, data } of source) {
    if (type === 'test:pass' && data.details.type !== 'suite') {
      data.skip ? skipped++ : passed++;
      slow.push([`${data.name}`, data.details.duration_ms]);
      if (data.file) files.set(data.file, (files.get(data.file) ?? 0) + data.details.duration_ms);
    }
    if (type === 'test:fail' && data.details.type !== 'suite') {
      failed++;
      if (process.env.QUARTERDECK_TEST_FAILED && data.file)
        appendFileSync(process.env.QUARTERDECK_TEST_FAILED, `${relative('.', data.file)}\n`);
      const cause = (data.details.error.cause ?? data.details.error) as Error;
      yield `\n✖ ${data.name}\n  ${data.file ?? ''}:${data.line ?? ''}\n  ${String(cause?.stack ?? cause).replaceAll('\n', '\n  ')}\n`;
    }
    if (type === 'test:stderr') yield data.message;
  }
  slow.sort((a, b) => b[1] - a[1]);
  yield `\nslowest: ${slow
    .slice(0, 5)
    .map(([name, ms]) => `${(ms / 1000).toFixed(1)} s ${name}`)
    .join(' · ')}\n`;
  if (process.env.QUARTERDECK_TEST_TIMES)
    for (const [file, ms] of [...files].sort((a, b) => b[1] - a[1]))
      yield `${(ms / 1000).toFixed(1).padStart(6)} s ${relative('.', file)}\n`;
  yield `took ${((performance.now() - began) / 1000).toFixed(0)} s\n${passed} passed, ${failed} failed, ${skipped} skipped\n`;
}
