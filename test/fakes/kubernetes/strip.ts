// Run by itself: writes programs of this folder into another one as plain JavaScript, with everything of ours that they import.
// To strip types is the most of what such a program does before it serves, and Node remembers it for one user alone: as root each cluster's
// programs run as another.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
import { dirname, join, relative } from 'node:path';

const [to = '', ...entries] = process.argv.slice(2);
const root = join(import.meta.dirname, '..', '..', '..');
const done = new Set<string>();

function strip(file: string): void {
  if (done.has(file)) return;
  done.add(file);
  const text = stripTypeScriptTypes(readFileSync(file, 'utf8')).replace(/\bfrom '([^']+)'/g, (whole, name: string) => {
    if (name.startsWith('node:')) return whole;
    if (!name.startsWith('.')) return `from '${import.meta.resolve(name)}'`;
    strip(join(dirname(file), name));
    return `from '${name.replace(/\.ts$/, '.mjs')}'`;
  });
  const path = join(to, relative(root, file)).replace(/\.ts$/, '.mjs');
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
}

for (const entry of entries) strip(entry);
