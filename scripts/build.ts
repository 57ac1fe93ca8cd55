// `npm run build [-- <folder>]`: the server's package in dist/. `npm run build -- cli [--single] [<folder>]`: the command line alone.
// `node scripts/image.mjs <folder> <machine>`: the files of the image.
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';

process.removeAllListeners('warning'); // that stripping is experimental: our sources run by it every day
const { values, positionals } = parseArgs({ allowPositionals: true, options: { single: { type: 'boolean', default: false } } });
const dist = join(import.meta.dirname, '../dist');

if (positionals[0] === 'cli') {
  const { buildCommandLine, buildSingleFile } = await import('./build/cli.ts');
  const folder = resolve(positionals[1] ?? join(dist, 'cli-package'));
  await buildCommandLine(folder);
  console.log(`the package @quarterdeck/cli is in ${folder}; npm pack ${folder} makes the file to hand out`);
  if (values.single) console.log(`the single file is ${await buildSingleFile(folder)}`);
} else if (positionals[0] === 'image') {
  const [, folder = join(dist, 'image'), machine, base] = positionals;
  const { buildImage } = await import('./build/image.ts');
  await buildImage(resolve(folder), machine, base);
} else {
  const { buildServer } = await import('./build/server.ts');
  await buildServer(resolve(positionals[0] ?? dist));
}
