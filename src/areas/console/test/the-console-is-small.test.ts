import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { brotliCompressSync } from 'node:zlib';
import { makeBundle } from '../engine/make-bundle.ts';

const root = join(import.meta.dirname, '../../../..');
const kB = 1000;

test('the first screen has at most 60 kB of script, the whole console 180 kB, its style 12 kB', async (t) => {
  const { files, script, style, preloads } = await makeBundle(root);
  const sizes = new Map([...files].map(([name, bytes]) => [name, brotliCompressSync(bytes).length]));
  const sum = (names: Iterable<string>) => [...names].reduce((total, name) => total + sizes.get(name)!, 0);
  const scripts = [...sizes.keys()].filter((name) => name.endsWith('.js'));
  // The screen of `/` is loaded by the script, with what it shares with others.
  const home = scripts.filter(
    (name) => /What needs|First steps|getOverview/.test(Buffer.from(files.get(name)!).toString()) && name !== script,
  );
  const first = sum(new Set([script, ...preloads, ...home]));
  t.diagnostic(`first ${first}, all ${sum(scripts)}, style ${sizes.get(style)}`);
  assert.ok(first <= 60 * kB, `the first screen has ${first} bytes of script`);
  assert.ok(sum(scripts) <= 180 * kB, `all scripts have ${sum(scripts)} bytes`);
  assert.ok(sizes.get(style)! <= 12 * kB, `the style has ${sizes.get(style)} bytes`);
  for (const [name, bytes] of files) assert.doesNotMatch(Buffer.from(bytes).toString(), /\bnode:[a-z]+['"]/, `${name} needs Node`);
});
