import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Plugin } from 'esbuild';
import type { Bundle } from '../rules/bundle.ts';

/** What a screen reaches is for the committed table of screens and roles; a browser never asks for it, and it would be in the first part. */
const screensWithoutOperations: Plugin = {
  name: 'screens without operations',
  setup({ onLoad }) {
    onLoad({ filter: /screens\.ts$/ }, async ({ path }) => ({ contents: withoutOperations(await readFile(path, 'utf8')), loader: 'ts' }));
  },
};

/** As the formatter writes the list: from its name to the bracket that ends it. */
function withoutOperations(text: string): string {
  const [head, ...parts] = text.split('\n    operations: [');
  return [head, ...parts.map((part) => part.slice(part.indexOf('],\n') + 2))].join('');
}

/** Joins `console/` below the root. esbuild is loaded here alone: most processes never need it. */
export async function makeBundle(root: string): Promise<Bundle> {
  const { build, stop } = await import('esbuild');
  try {
    const { outputFiles, metafile } = await build({
      absWorkingDir: root,
      entryPoints: { console: join(root, 'console/main.tsx') },
      outdir: join(root, 'assets'),
      bundle: true,
      splitting: true,
      format: 'esm',
      platform: 'browser',
      target: ['chrome120', 'firefox121', 'safari17'],
      jsx: 'automatic',
      jsxImportSource: 'preact',
      minify: true,
      legalComments: 'none',
      entryNames: '[name]-[hash]',
      chunkNames: 'part-[hash]',
      assetNames: '[name]-[hash]',
      loader: { '.json': 'json' },
      write: false,
      metafile: true,
      logLevel: 'silent',
      plugins: [screensWithoutOperations],
    });
    const nameOf = (path: string) => path.replaceAll('\\', '/').split('/').at(-1)!;
    const [path, entry] = Object.entries(metafile.outputs).find(([, { entryPoint }]) => entryPoint === 'console/main.tsx')!;
    return {
      files: new Map(outputFiles.map((file) => [nameOf(file.path), file.contents])),
      script: nameOf(path),
      style: nameOf(entry.cssBundle!),
      preloads: entry.imports.filter(({ kind }) => kind === 'import-statement').map((part) => nameOf(part.path)),
    };
  } finally {
    await stop();
  }
}
