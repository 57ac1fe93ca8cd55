import { execFile } from 'node:child_process';
import { mkdir, readFile, rmdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { findOwnDirectory, missingControllers } from '../../src/drivers/process/rules/cgroup.ts';

const cgroups = import.meta.resolve('../../src/drivers/process/clients/cgroup.ts');

/** A process that enters the cgroup which it is given, as a unit of systemd would be, and there does what a server does for a cluster. */
const server = `
  import assert from 'node:assert/strict';
  import { spawn } from 'node:child_process';
  import { once } from 'node:events';
  import { existsSync, readFileSync, writeFileSync } from 'node:fs';
  const given = process.env.GIVEN;
  writeFileSync(given + '/cgroup.procs', String(process.pid));
  const { isAllowed, ownCgroups } = await import(${JSON.stringify(cgroups)});
  const all = await ownCgroups();
  assert.ok(isAllowed(all), all.why);
  const cgroupOf = (pid) => readFileSync('/proc/' + pid + '/cgroup', 'utf8');
  assert.match(cgroupOf(process.pid), /quarterdeck-server$/m);
  const one = await all.keep('cls_1');
  const walls = { highMiB: 48, mostMiB: 64, weight: 200 };
  await one.bound(walls);
  assert.deepEqual(await one.walls(), walls);
  const quiet = spawn('sleep', ['60']);
  await one.enter(quiet.pid);
  assert.match(cgroupOf(quiet.pid), /quarterdeck-clusters\\/cls_1$/m);
  await all.remove('cls_1');
  assert.ok(existsSync(given + '/quarterdeck-clusters/cls_1'), 'not while somebody is in it');
  const greedy = spawn('tail', ['/dev/zero'], { stdio: 'ignore' });
  await one.enter(greedy.pid);
  const [, signal] = await once(greedy, 'exit');
  assert.equal(signal, 'SIGKILL');
  assert.equal(await one.memoryKills(), 1);
  quiet.kill('SIGKILL');
  await once(quiet, 'exit');
  await all.remove('cls_1');
  assert.deepEqual(await all.list(), []);
`;

test('the kernel holds a cluster’s programs to its cgroup, and ends the one that takes too much', async (t) => {
  const mountinfo = await readFile('/proc/self/mountinfo', 'utf8').catch(() => '');
  const root = findOwnDirectory('0::/\n', mountinfo);
  const lacking =
    root === undefined ? ['v2'] : missingControllers(await readFile(join(root, 'cgroup.subtree_control'), 'utf8').catch(() => ''));
  if (lacking.length > 0 || process.getuid?.() !== 0)
    return t.skip(`there is no cgroup ${lacking.join(', ')} that this user may make others in`);
  const given = join(root!, `quarterdeck-test-${process.pid}`);
  await mkdir(given);
  t.after(async () => {
    for (const name of ['quarterdeck-clusters/cls_1', 'quarterdeck-clusters', 'quarterdeck-server', ''])
      await rmdir(join(given, name)).catch(() => {});
  });
  await writeFile(join(given, 'memory.swap.max'), '0').catch(() => {});
  await promisify(execFile)(process.execPath, ['--input-type=module', '-e', server], { env: { ...process.env, GIVEN: given } });
});
