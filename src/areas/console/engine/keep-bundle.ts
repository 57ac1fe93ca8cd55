import { createHash } from 'node:crypto';
import { mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Bundle } from '../rules/bundle.ts';

/** In a clone this is its root, in the package of the server the folder of what was built. */
const root = join(import.meta.dirname, '../../../..');
const list = 'manifest.json';

type Manifest = Pick<Bundle, 'script' | 'style' | 'preloads'>;

/** The bundle that came with the package, the one of an earlier start, or a new one. */
export async function findBundle(): Promise<Bundle> {
  const carried = await readBundle(join(root, 'console'));
  if (carried) return carried;
  const kept = join(root, 'node_modules/.cache/quarterdeck-console', await keyOfSources(root));
  const known = await readBundle(kept);
  if (known) return known;
  const { makeBundle } = await import('./make-bundle.ts');
  const made = await makeBundle(root);
  // A clone that this user cannot write to bundles at each start.
  await writeBundle(kept, made).catch(() => undefined);
  return made;
}

async function readBundle(folder: string): Promise<Bundle | undefined> {
  try {
    const manifest = JSON.parse(await readFile(join(folder, list), 'utf8')) as Manifest;
    const names = (await readdir(folder)).filter((name) => name !== list);
    const files = await Promise.all(names.map(async (name) => [name, await readFile(join(folder, name))] as const));
    return { ...manifest, files: new Map(files) };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

/** Another process may write the same at the same time: whichever comes second finds it done. */
export async function writeBundle(folder: string, { files, script, style, preloads }: Bundle): Promise<void> {
  const fresh = `${folder}-${process.pid}`;
  await mkdir(fresh, { recursive: true });
  try {
    for (const [name, bytes] of files) await writeFile(join(fresh, name), bytes);
    await writeFile(join(fresh, list), JSON.stringify({ script, style, preloads } satisfies Manifest));
    await rename(fresh, folder);
  } finally {
    await rm(fresh, { recursive: true, force: true });
  }
}

/** Changes with every source that the bundle may hold, and with the versions of what joins it. */
async function keyOfSources(from: string): Promise<string> {
  const hash = createHash('sha256').update(await readFile(join(from, 'package-lock.json')));
  for (const folder of ['console', 'sdk']) {
    const entries = await readdir(join(from, folder), { recursive: true, withFileTypes: true });
    const files = entries.filter((entry) => entry.isFile() && !/[\\/]test([\\/]|$)/.test(entry.parentPath));
    const paths = files.map((entry) => join(entry.parentPath, entry.name)).sort();
    for (const path of paths) hash.update(path.slice(from.length)).update(await readFile(path));
  }
  return hash.digest('hex').slice(0, 24);
}
