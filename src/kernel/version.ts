import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { readCommit } from './commit.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const described: { version: string; build?: string } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));

/** The product's version, from package.json. */
export const { version } = described;

/**
 * Tells two builds of one version apart: the version, and the commit of a clone when this process started, or what `npm run build` wrote down.
 * Read without git, which a server may lack.
 */
export const build: string = described.build ?? [version, readCommit(join(root, '.git'))?.slice(0, 10)].filter(Boolean).join('+');
