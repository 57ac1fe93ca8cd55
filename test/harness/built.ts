import { globSync, readFileSync } from 'node:fs';
import { mkdir, readdir, rename, rm, stat, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Plugin } from 'esbuild';

// Of the processes that a run starts most are the program itself: two thousand files to load, a second of CPU each time. A run of many
// files joins them once into a few, which load in a third of that. They are the same sources: each part still knows the file it comes from,
// so that migrations, tables and programs beside the code are found. A file that is run alone starts the sources, and so do the tests of
// bin/quarterdeck.mjs, of the package, and those that hook imports.

const root = join(import.meta.dirname, '..', '..');
const folder = join(root, 'node_modules', '.cache', 'built-for-tests');
const variable = 'QUARTERDECK_TEST_BUILT';
/** What an earlier run left is of no use to anybody by then. */
const leftAfterMs = 86_400_000;

export const sourceProgram = join(root, 'src', 'main.ts');

/** The program as a file for `node`: what the run has built, or the sources. */
export const mainProgram = (): string => process.env[variable] ?? sourceProgram;

export const handDownBuilt = (main: string) => ({ [variable]: main });

export async function buildMain(): Promise<string> {
  const esbuild = await import('esbuild');
  const { outputFiles } = await esbuild.build({
    entryPoints: [sourceProgram],
    outdir: folder,
    outExtension: { '.js': '.mjs' },
    bundle: true,
    splitting: true,
    write: false,
    platform: 'node',
    format: 'esm',
    keepNames: true,
    // A fault point is put into pg from outside; pino finds a file beside it; the others are large, and loaded when they are used.
    external: ['pg', 'pino', 'mailauth', 'esbuild', '@aws-sdk/*', '@scalar/*'],
    banner: {
      js: `import { createRequire as requireOf } from 'node:module'; const require = requireOf(${JSON.stringify(import.meta.url)});`,
    },
    plugins: [whereItWas],
    logLevel: 'error',
  });
  await esbuild.stop();
  await mkdir(folder, { recursive: true });
  await removeOld();
  // Under another name first: a run beside this one may be reading.
  for (const { path, contents } of outputFiles) {
    await writeFile(`${path}.${process.pid}`, contents);
    await rename(`${path}.${process.pid}`, path);
  }
  return join(folder, 'main.mjs');
}

async function removeOld(): Promise<void> {
  for (const name of await readdir(folder)) {
    const file = join(folder, name);
    const found = await stat(file).catch(() => undefined);
    if (found && Date.now() - found.mtimeMs > leftAfterMs) await rm(file, { force: true });
  }
}

/** The files that ask where they stand are told where they stood. */
const whereItWas: Plugin = {
  name: 'where-it-was',
  setup: (it) => {
    const asking = globSync('{src,cli,sdk,contract}/**/*.ts', { cwd: root, exclude: ['**/test/**'] })
      .map((name) => ({ path: join(root, name), text: readFileSync(join(root, name), 'utf8') }))
      .filter(({ text }) => text.includes('import.meta.'));
    const contents = new Map(asking.map(({ path, text }) => [path, withPlace(text, path)]));
    const filter = new RegExp(`/(?:${[...new Set(asking.map(({ path }) => basename(path, '.ts')))].join('|')})\\.ts$`);
    it.onLoad({ filter }, ({ path }) => (contents.has(path) ? { loader: 'ts', contents: contents.get(path)! } : undefined));
  },
};

const withPlace = (text: string, path: string) =>
  text
    .replaceAll('import.meta.dirname', JSON.stringify(dirname(path)))
    .replaceAll('import.meta.filename', JSON.stringify(path))
    .replaceAll('import.meta.url', JSON.stringify(pathToFileURL(path).href))
    .replaceAll('import.meta.main', 'false');
