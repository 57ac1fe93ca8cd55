import { accessSync, constants, globSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { test } from 'node:test';
import { startTourist } from '../harness/tour.ts';

const folders = (process.env['PATH'] ?? '').split(delimiter);

function isInstalled(program: string): boolean {
  return folders.some((folder) => {
    try {
      accessSync(join(folder, program), constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
}

// One server for all: a reader of the README goes on to the tours.
test('the README and the tours run whole, with the programs they name', { timeout: 175_000 }, async (t) => {
  const { follow } = await startTourist(t);
  for (const file of ['README.md', ...globSync('docs/tours/*.md').sort()]) await t.test(file, (each) => follow(each, file, isInstalled));
});
