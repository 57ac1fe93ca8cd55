import { makeIdleShare } from './runner/idle.ts';
import type { Told } from './runner/told.ts';

/** Failures whole, successes counted, and the closing line that says so. */
export function makeReporter() {
  let passed = 0;
  const skipped: string[] = [];
  let failures = 0;
  let dots = 0;
  const began = performance.now();
  const idleShare = makeIdleShare();
  const slow: [string, number][] = [];
  const failed = new Set<string>();
  const files: (Told & { type: 'ended' })[] = [];
  const dot = (mark: string) => void process.stderr.write(++dots % 80 ? mark : `${mark}\n`);

  return {
    failed,
    /** How long each file took that came to its end. */
    times: () => Object.fromEntries(files.map(({ file, ms }) => [file, ms])),
    /** Files of which nothing was heard to their end, whatever the reason. */
    missing: (given: string[]) => given.filter((file) => !failed.has(file) && !files.some((ended) => ended.file === file)),
    tell: (told: Told) => {
      if (told.type === 'passed') {
        if (told.skipped) skipped.push(`${told.name} (${told.skipped})`);
        else passed++;
        slow.push([told.name, told.ms]);
        dot('.');
      }
      if (told.type === 'failed') {
        failures++;
        failed.add(told.file);
        dot('X');
        console.log(`\n✖ ${told.name}\n  ${told.at}\n  ${told.error.replaceAll('\n', '\n  ')}`);
      }
      if (told.type === 'ended') files.push(told);
    },
    close: () => {
      slow.sort((a, b) => b[1] - a[1]);
      const seconds = (ms: number) => (ms / 1000).toFixed(1);
      console.log(
        `\nslowest: ${slow
          .slice(0, 5)
          .map(([name, ms]) => `${seconds(ms)} s ${name}`)
          .join(' · ')}`,
      );
      if (process.env.QUARTERDECK_TEST_TIMES)
        for (const { file, ms, cpuMs } of files.sort((a, b) => b.cpuMs - a.cpuMs))
          console.log(`${seconds(ms).padStart(6)} s, ${seconds(cpuMs).padStart(5)} s of CPU: ${file}`);
      for (const each of skipped) console.log(`skipped: ${each}`);
      console.log(
        `took ${((performance.now() - began) / 1000).toFixed(0)} s; the processors rested in ${(idleShare() * 100).toFixed(0)} % of it\n${passed} passed, ${failures} failed, ${skipped.length} skipped`,
      );
    },
  };
}
