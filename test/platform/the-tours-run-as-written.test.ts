import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { startTourist } from '../harness/tour.ts';
import { readTour } from '../harness/tour-text.ts';

const tours = globSync('docs/tours/*.md').sort();

test('the tours run as written', { timeout: 175_000, concurrency: 2 }, async (t) => {
  const texts = ['README.md', ...tours].map((file) => ({ file, text: readFileSync(file, 'utf8') }));

  await t.test('no name is used twice, and no id is copied by hand', () => {
    const made = new Map<string, string>();
    for (const { file, text } of texts)
      for (const { command, line } of readTour(text).steps) {
        const at = `${file}:${line}`;
        assert.doesNotMatch(command, /[a-z]{2,5}_…/, `${at}: a reader would have to put an id in`);
        for (const thing of namesMadeBy(command)) {
          assert.equal(made.get(thing), undefined, `${at} makes ${thing} once more`);
          made.set(thing, at);
        }
      }
    for (const { file, text } of texts) assert.doesNotMatch(text, /npx quarterdeck/, `${file}: that name is not ours`);
  });

  const { follow } = await startTourist(t);
  // Two readers at a time. The tour of `try` comes first: its things are found again by others.
  const [first, ...others] = [...tours].sort((a) => (a.endsWith('/try.md') ? -1 : 0));
  await t.test(first!, (each) => follow(each, first!));
  await Promise.all(others.map((file) => t.test(file, (each) => follow(each, file))));
});

/** What a step makes, as `uptime services blog`. A step that must fail makes nothing. */
function namesMadeBy(command: string): string[] {
  if (command.includes('# fails: ') && !command.includes('--wait')) return [];
  const [, kind, rest = ''] = /\.\/quarterdeck ([a-z -]+?) (?:create|open) (.*)/s.exec(command) ?? [];
  const name = /--(?:name|slug|title|email|vantage)[ =]('[^']*'|\S+)/.exec(rest)?.[1];
  return kind && name ? [`${kind.replace(/^(?:uptime|oncall) services/, 'services')} ${name}`] : [];
}
