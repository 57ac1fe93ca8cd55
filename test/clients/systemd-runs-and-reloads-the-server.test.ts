import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { chmod, copyFile, mkdir, mkdtemp, readdir, readFile, rm, rmdir, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { promisify } from 'node:util';
import { freePort } from '../harness/free-port.ts';
import { eventually } from '../harness/process.ts';
import { childrenOf, ordinaryEnv } from '../platform/a-parent.ts';

const run = promisify(execFile);
const root = join(import.meta.dirname, '..', '..');
const deploy = join(root, 'deploy', 'systemd');

const hasSystemd = await run('systemd-analyze', ['--version']).then(
  () => true,
  () => false,
);

test('the units are right, and closed', { skip: !hasSystemd && 'systemd is not installed' }, async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'qd-units-'));
  t.after(() => rm(folder, { recursive: true }));
  // Only what the unit names must be there for `verify`: the program, and the user.
  for (const name of ['quarterdeck.service', 'quarterdeck@.service', 'quarterdeck-backup.service']) {
    const unit = (await readFile(join(deploy, name), 'utf8'))
      .replaceAll('/opt/quarterdeck/current/quarterdeck', '/bin/true')
      .replace('User=quarterdeck', 'User=daemon');
    await writeFile(join(folder, name), unit);
    const instance = name.replace('@.', '@api.');
    const { stdout, stderr } = await run('systemd-analyze', ['verify', join(folder, instance)]);
    assert.equal(stdout + stderr, '', name);
    const { stdout: judged } = await run('systemd-analyze', ['security', '--offline=yes', '--threshold=30', join(folder, instance)]);
    assert.match(judged, /Overall exposure level for \S+: [012]\.\d /);
  }
  const timer = join(folder, 'quarterdeck-backup.timer');
  await copyFile(join(deploy, 'quarterdeck-backup.timer'), timer);
  const { stdout, stderr } = await run('systemd-analyze', ['verify', timer]);
  assert.equal(stdout + stderr, '');
});

test('the units of a shard machine are right, as closed as each drop-in lets them be', {
  skip: !hasSystemd && 'systemd is not installed',
}, async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'qd-units-'));
  t.after(() => rm(folder, { recursive: true }));
  const from = join(root, 'deploy', 'clusters');
  const name = 'quarterdeck-shard.service';
  const [, major = '0'] = /^systemd (\d+)/.exec((await run('systemd-analyze', ['--version'])).stdout) ?? [];
  // What a systemd before 254 does not know, it warns of.
  const known = (text: string) => (Number(major) >= 254 ? text : text.replace(/^DelegateSubgroup=.*$/m, ''));
  const unit = (await readFile(join(from, name), 'utf8'))
    .replaceAll('/opt/quarterdeck/current/quarterdeck', '/bin/true')
    .replace('User=quarterdeck', 'User=daemon');
  await writeFile(join(folder, name), known(unit));
  const dropIns = join(folder, `${name}.d`);
  await mkdir(dropIns);
  for (const { dropIn, exposure } of [
    { dropIn: undefined, exposure: 2.5 },
    { dropIn: 'root.conf', exposure: 4 },
    { dropIn: 'mesh.conf', exposure: 6 },
  ]) {
    if (dropIn) await copyFile(join(from, `${name}.d`, dropIn), join(dropIns, dropIn));
    const env = { ...process.env, SYSTEMD_UNIT_PATH: `${folder}:` };
    const { stdout, stderr } = await run('systemd-analyze', ['verify', name], { env });
    assert.equal(stdout + stderr, '', dropIn ?? name);
    const { stdout: judged } = await run(
      'systemd-analyze',
      ['security', '--offline=yes', '--no-pager', '--threshold=100', join(folder, name)],
      {
        env,
      },
    );
    const found = Number(/Overall exposure level for \S+: ([\d.]+) /.exec(judged)?.[1]);
    assert.ok(found <= exposure, `${dropIn}: ${found}`);
  }
});

/** Targets that units lean on, without what they start on a real machine. */
const targets = ['sysinit', 'basic', 'shutdown', 'multi-user', 'network-online', 'sockets', 'timers', 'paths', 'slices'];

async function whyNotHere(): Promise<string | false> {
  if (!hasSystemd) return 'systemd is not installed';
  if (process.getuid?.() !== 0) return 'only root makes namespaces with a systemd in them';
  const isAllowed = await run('unshare', ['-Cpfm', '--mount-proc', 'mount', '-t', 'tmpfs', 'none', '/opt']).then(
    () => true,
    () => false,
  );
  return isAllowed ? false : 'namespaces cannot be made here';
}

/** A systemd with these units, ended with the test. */
async function startSystemd(t: TestContext, units: string) {
  const name = `quarterdeck-test-${process.pid}`;
  const outer = spawn('sh', [join(import.meta.dirname, 'systemd-in-a-namespace.sh'), name, units, root], {
    stdio: 'ignore', // its last words are of its kill
    env: ordinaryEnv(),
  });
  const pid = await eventually(async () => {
    const [inner] = await childrenOf(outer.pid!);
    return inner !== undefined && (await readFile(`/proc/${inner}/comm`, 'utf8')).trim() === 'systemd' && inner;
  });
  t.after(async () => {
    const isOver = new Promise((resolve) => outer.once('exit', resolve));
    process.kill(pid, 'SIGKILL'); // and with it everything in its namespace
    await isOver;
    for (const hierarchy of ['/sys/fs/cgroup', ...(await readdir('/sys/fs/cgroup')).map((one) => join('/sys/fs/cgroup', one))])
      await removeCgroup(join(hierarchy, name));
  });
  const within = (...command: string[]) => run('nsenter', ['-t', String(pid), '-m', '-p', '-C', ...command]);
  return { within, systemctl: (...args: string[]) => within('systemctl', ...args) };
}

async function removeCgroup(path: string): Promise<void> {
  const found = await readdir(path, { withFileTypes: true }).catch(() => undefined);
  if (!found) return;
  for (const each of found) if (each.isDirectory()) await removeCgroup(join(path, each.name));
  // Its last process may be gone, and not yet counted so.
  await eventually(() => rmdir(path).then(() => true));
}

test('systemd starts the server in its sandbox, reloads and stops it', { skip: await whyNotHere() }, async (t) => {
  const units = await mkdtemp(join(tmpdir(), 'qd-units-'));
  await chmod(units, 0o755);
  t.after(() => rm(units, { recursive: true }));
  const port = await freePort();
  const settings = join(units, 'etc');
  await mkdir(settings);
  const toml = ['listen', 'smtp_submission', 'smtps', 'smtp_inbound', 'cluster_listen'].map(
    (key) => `${key} = "127.0.0.1:${key === 'listen' ? port : 0}"\n`,
  );
  await writeFile(join(settings, 'quarterdeck.toml'), toml.join(''));

  // As the command prints it, for a program behind a link.
  await symlink('/opt/quarterdeck/current', join(units, 'program'));
  for (const name of ['quarterdeck.service', 'quarterdeck-backup.service']) {
    const unit = (await readFile(join(deploy, name), 'utf8'))
      .replace('User=quarterdeck', 'User=daemon')
      .replaceAll('/etc/quarterdeck', settings)
      .replaceAll('/var/backups/quarterdeck', '/run/backups')
      .replaceAll('/opt/quarterdeck/current/quarterdeck', `${join(units, 'program')}/quarterdeck`)
      .replace('PrivateTmp=yes', `PrivateTmp=yes\nBindReadOnlyPaths=${units}`)
      .replace('[Service]', `[Service]\nStandardOutput=append:/run/said\nStandardError=append:/run/said`);
    await writeFile(join(units, name), unit);
  }
  for (const name of targets) await writeFile(join(units, `${name}.target`), `[Unit]\nDescription=${name}\nDefaultDependencies=no\n`);

  const { systemctl, within } = await startSystemd(t, units);
  await eventually(async () =>
    /^(running|degraded)$/m.test((await systemctl('is-system-running').catch(({ stdout }) => ({ stdout }))).stdout),
  );
  const said = () =>
    within('cat', '/run/said').then(
      ({ stdout }) => stdout,
      () => '',
    );
  const show = async (property: string) => (await systemctl('show', '--value', '-p', property, 'quarterdeck')).stdout.trim();
  await systemctl('start', 'quarterdeck').catch(async (error) => assert.fail(`${error.message}: ${await said()}`));
  // It is ready when systemd says so, not some time after.
  assert.equal((await fetch(`http://127.0.0.1:${port}/readyz`)).status, 200, await said());
  const main = await show('MainPID');

  await systemctl('reload', 'quarterdeck').catch(async (error) => assert.fail(`${error.message}: ${await said()}`));
  assert.match(await said(), /was replaced by/);
  assert.equal(await show('MainPID'), main);
  assert.equal((await fetch(`http://127.0.0.1:${port}/readyz`)).status, 200);

  // As its user, without the capability that the service has for its ports.
  const asUser = [
    'setpriv',
    '--reuid',
    'daemon',
    '--regid',
    'daemon',
    '--clear-groups',
    'env',
    '-C',
    settings,
    'QUARTERDECK_DATA=/var/lib/quarterdeck',
  ];
  const link = await within(...asUser, `${join(units, 'program')}/quarterdeck`, 'admin', 'sign-in-link').catch((error) =>
    assert.fail(error.message),
  );
  assert.match(link.stdout, /\/sign-in\/link\//);

  // A backup beside it; what is older than two weeks goes.
  await within('install', '-d', '-o', 'daemon', '/run/backups', '/run/backups/old', '/run/backups/recent');
  await within('touch', '-d', '15 days ago', '/run/backups/old');
  await systemctl('start', 'quarterdeck-backup').catch(async (error) => assert.fail(`${error.message}: ${await said()}`));
  const backups = (await within('ls', '/run/backups')).stdout.trim().split('\n');
  assert.deepEqual([backups.length, backups[1]], [2, 'recent']);
  assert.match(backups[0]!, /^\d{4}-\d\d-\d\dT\d{6}Z$/);
  await within('test', '-s', `/run/backups/${backups[0]}/manifest.json`);

  // Settings that do not hold.
  await writeFile(join(settings, 'quarterdeck.toml'), 'listen = "nowhere"\n');
  await assert.rejects(systemctl('reload', 'quarterdeck'));
  assert.match(await said(), /the setting listen in .* is wrong: expected host:port, found "nowhere"/);
  assert.equal(await show('ActiveState'), 'active');
  assert.equal((await fetch(`http://127.0.0.1:${port}/readyz`)).status, 200);

  await systemctl('stop', 'quarterdeck');
  assert.deepEqual([await show('ActiveState'), await show('Result')], ['inactive', 'success']);
  const { stdout: left } = await within('ps', '-A', '-o', 'comm=');
  assert.doesNotMatch(left, /postgres|node/);
});
