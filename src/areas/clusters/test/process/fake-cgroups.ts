/**
 * Loaded into a server with --import: it finds itself alone in a cgroup v2 that has been given to it and is nothing but the directory QD_CGROUPS.
 * What the kernel would do is left to the test: files stay as they are written, and `cgroup.procs` tells everybody who ever entered.
 */
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';

const root = process.env.QD_CGROUPS ?? '';
fs.mkdirSync(`${root}/own`, { recursive: true });
fs.writeFileSync(`${root}/own/cgroup.controllers`, 'cpuset cpu io memory pids\n');
fs.writeFileSync(`${root}/own/cgroup.subtree_control`, '');
fs.writeFileSync(`${root}/own/cgroup.procs`, `${process.pid}\n`);

const { readFile, rmdir } = fs.promises;
const told: Record<string, string> = {
  '/proc/self/cgroup': '0::/own\n',
  '/proc/self/mountinfo': `31 24 0:27 / ${root} rw,nosuid - cgroup2 cgroup2 rw\n`,
};
Object.assign(fs.promises, {
  readFile: (path: string, ...more: []) => (told[path] === undefined ? readFile(path, ...more) : Promise.resolve(told[path])),
  // The kernel's files go with their directory.
  rmdir: (path: string) => (path.startsWith(`${root}/`) ? fs.promises.rm(path, { recursive: true }) : rmdir(path)),
});
syncBuiltinESMExports();
