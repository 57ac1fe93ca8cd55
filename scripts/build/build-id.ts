import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { readCommit } from '../../src/kernel/commit.ts';

const root = join(dirname(fileURLToPath(import.meta.url)), '../..');

/** The version, and the commit that is built; outside a clone, the time. */
export function buildId(): string {
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string };
  const time = Temporal.Now.instant()
    .toString({ smallestUnit: 'second' })
    .replaceAll(/[-:TZ]/g, '');
  return `${version}+${readCommit(join(root, '.git'))?.slice(0, 10) ?? time}`;
}
