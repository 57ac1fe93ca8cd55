// The command line alone: one bundle without dependencies, as a package and as a single executable. Colleagues need no server.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { chmodSync, copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { build, type Plugin } from 'esbuild';
import { buildId } from './build-id.ts';

const root = join(dirname(fileURLToPath(import.meta.url)), '../..');
/** The oldest Node that the bundle's syntax and `fetch` run on. */
const target = 'node20';

/** Beside the client the bundle has no files: its tables become texts in it, which parse quicker than code. */
const tablesInside: Plugin = {
  name: 'tables-inside',
  setup: (it) => {
    for (const [table, name] of Object.entries({ commands: 'readCommands', things: 'readThings' }))
      it.onLoad({ filter: new RegExp(`/sdk/${table}\\.ts$`) }, () => ({
        contents: `import table from './generated/${table}.json' with { type: 'text' };\nlet read;\nexport const ${name} = () => (read ??= JSON.parse(table));\n`,
        loader: 'js',
        resolveDir: join(root, 'sdk'),
      }));
  },
};

/**
 * What few commands need, and what takes long to load: a module of node is loaded when its function is first called. A function that is
 * not listed here ends the build.
 */
const calledLater: Record<string, string[]> = {
  'node:child_process': ['spawn', 'spawnSync'],
  'node:readline': ['createInterface'],
  'node:stream/consumers': ['text'],
  'node:stream/promises': ['pipeline'],
};

const loadedWhenCalled: Plugin = {
  name: 'loaded-when-called',
  setup: (it) => {
    const namespace = 'called-later';
    it.onResolve({ filter: new RegExp(`^(?:${Object.keys(calledLater).join('|')})$`) }, ({ path, importer }) =>
      importer.startsWith('node:') ? { path, external: true } : { path, namespace },
    );
    it.onLoad({ filter: /.*/, namespace }, ({ path }) => {
      const names = calledLater[path]!;
      const functions = names.map((name) => `export const ${name} = (...given) => require('${path}').${name}(...given);`);
      return { contents: [...functions, `export default { ${names.join(', ')} };`].join('\n') };
    });
  },
};

const programs = { quarterdeck: 'alone.ts', 'docker-credential-quarterdeck': 'docker-credential-alone.ts' };

async function bundle(entry: string, outfile: string, banner: string): Promise<void> {
  await build({
    entryPoints: [join(root, 'cli', entry)],
    outfile,
    bundle: true,
    platform: 'node',
    format: 'cjs',
    target,
    minifySyntax: true,
    minifyWhitespace: true,
    legalComments: 'inline',
    loader: { '.json': 'text' },
    define: { buildVersion: JSON.stringify(buildId()), 'import.meta.main': 'false' },
    banner: { js: banner },
    plugins: [tablesInside, loadedWhenCalled],
    logLevel: 'error',
  });
}

const manifest = () => JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string; license: string };

/**
 * Half of a start is compiling, so the compiled code is kept. In a folder of the user's own: Node's default lies in the common temporary
 * directory, where another user could leave code to run.
 */
const keepCompiled = `{
  const { homedir } = require('node:os'), { isAbsolute, join } = require('node:path'), set = process.env.XDG_CACHE_HOME ?? '';
  try { require('node:module').enableCompileCache?.(join(isAbsolute(set) ? set : join(homedir(), '.cache'), 'quarterdeck')); } catch {}
}`;
const banner = `#!/usr/bin/env node\n${keepCompiled}`;

export async function buildCommandLine(folder: string): Promise<void> {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(join(folder, 'bin'), { recursive: true });
  for (const [name, entry] of Object.entries(programs)) {
    const file = join(folder, 'bin', `${name}.cjs`);
    await bundle(entry, file, banner);
    chmodSync(file, 0o755);
  }
  const { version, license } = manifest();
  const described = {
    name: '@quarterdeck/cli',
    version,
    description: 'The command line of Quarterdeck, the control room of a small cloud',
    license,
    engines: { node: '>=20' },
    bin: Object.fromEntries(Object.keys(programs).map((name) => [name, `bin/${name}.cjs`])),
    files: ['bin', 'LICENSE'],
  };
  writeFileSync(join(folder, 'package.json'), `${JSON.stringify(described, null, 2)}\n`);
  copyFileSync(join(root, 'LICENSE'), join(folder, 'LICENSE'));
}

/**
 * A fifth of Node are the names of its functions, which only a debugger reads. Where there is no `strip` they stay. On macOS the binary is
 * signed as it is.
 */
function withoutSymbols(copy: string): string {
  if (process.platform !== 'linux') return process.execPath;
  try {
    copyFileSync(process.execPath, copy);
    execFileSync('strip', ['--strip-unneeded', copy], { stdio: 'ignore' });
    return copy;
  } catch {
    return process.execPath;
  }
}

/**
 * Node and the bundle in one file, for machines without either. Made by the Node that runs this, for its own platform. Node alone has more
 * than 100 MB, so the file carries it compressed and unpacks it at its first start; on Windows, which has no `sh`, it is as large as it is.
 */
export async function buildSingleFile(folder: string): Promise<string> {
  const scratch = mkdtempSync(join(tmpdir(), 'quarterdeck-single-'));
  try {
    const [main, config, program] = [join(scratch, 'main.cjs'), join(scratch, 'sea.json'), join(scratch, 'quarterdeck')];
    await bundle(programs.quarterdeck, main, '');
    const executable = withoutSymbols(join(scratch, 'node'));
    writeFileSync(config, JSON.stringify({ main, output: program, executable, disableExperimentalSEAWarning: true, useCodeCache: true }));
    execFileSync(process.execPath, ['--build-sea', config], { stdio: ['ignore', 'ignore', 'inherit'] });
    const isWindows = process.platform === 'win32';
    const output = join(folder, isWindows ? 'quarterdeck.exe' : 'quarterdeck');
    if (isWindows) copyFileSync(program, output);
    else writeFileSync(output, unpacking(readFileSync(program)));
    chmodSync(output, 0o755);
    return output;
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

/** A file that is `program` once it has unpacked itself. */
export function unpacking(program: Buffer): Buffer {
  const script = readFileSync(join(root, 'scripts/build/unpacking.sh'), 'utf8');
  const digest = createHash('sha256').update(program).digest('hex').slice(0, 16);
  const line = script.split('\n').length;
  return Buffer.concat([
    Buffer.from(script.replaceAll('@digest@', digest).replaceAll('@bytes@', String(program.length)).replaceAll('@line@', String(line))),
    gzipSync(program, { level: 9 }),
  ]);
}
