import assert from 'node:assert/strict';
import { chmod, mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { installFakes } from '../../../test/fakes/kubernetes/index.ts';
import { releases } from '../../../test/fakes/releases.ts';
import { freePort } from '../../../test/harness/free-port.ts';
import { quarterdeck } from '../../../test/harness/index.ts';
import { urlOf } from '../../../test/harness/postgres.ts';
import { eventually, scratch } from '../../../test/harness/process.ts';
import { run } from '../../kernel/db/index.ts';
import { builderModule } from '../clusters/build.ts';
import { maxBytes } from '../clusters/release-files.ts';
import { adminHere } from './support.ts';

const programs = ['kube-apiserver', 'kube-controller-manager', 'kube-scheduler'];

async function installer(t: TestContext, env: Record<string, string> = {}) {
  const { dir } = await scratch(t);
  const bin = join(dir, 'bin');
  const all = { QUARTERDECK_DATA: dir, QUARTERDECK_CLUSTER_BINARIES: bin, ...env };
  const admin = (...args: string[]) => adminHere(['clusters', ...args], all);
  const isInstalled = async (version: string) => (await readdir(bin).catch((): string[] => [])).includes(version);
  return { dir, bin, admin, isInstalled };
}

test('the operator installs a version from its releases; what broke off is gone on with, what is wrong is not installed', async (t) => {
  const server = await releases(t);
  const { bin, admin, isInstalled } = await installer(t, { QUARTERDECK_CLUSTER_MIRROR: server.url });
  const refused = async (why: RegExp, version = 'v1.36.4') => {
    const { code, err } = await admin('install', version);
    assert.notEqual(code, 0);
    assert.match(err, why);
    assert.equal(await isInstalled(version), false);
  };
  await refused(/is not a version of Kubernetes; write it like v1\.36\.4/, '1.36');
  server.fail('kube-apiserver', 'cut');
  await refused(/kube-apiserver broke off: .*run the command again, and it goes on from there/);
  server.heal();
  server.fail('kube-controller-manager', 'altered');
  await refused(/kube-controller-manager does not have its sha512 checksum .*nothing was installed/);
  const parts = server.asked.filter((path) => /kube-apiserver( |$)/.test(path));
  assert.match(parts[1]!, /kube-apiserver bytes=\d+-$/, 'the second try asks for the rest');
  server.heal();
  server.fail('kube-controller-manager', 'short');
  await refused(/kube-controller-manager does not have its sha512 checksum/);
  server.heal();
  server.fail('kube-scheduler', 'missing');
  await refused(/there is no release file .*kube-scheduler, though its checksum is there/);
  server.heal();
  server.fail('kube-scheduler', 'redirect-to-metadata');
  await refused(/cannot be fetched/);
  server.heal();
  server.fail('kube-scheduler', 'broken');
  await refused(/answered with status 500/);
  server.heal();
  server.fail('kube-scheduler.sha512', 'no-checksum');
  await refused(/holds no checksum of kube-scheduler/);
  server.heal();
  server.fail('kube-scheduler', 'redirect');
  server.fail('kube-scheduler.sha512', 'missing'); // then its sha256 counts
  server.asked.length = 0;
  const { code, err, out } = await admin('install', 'v1.36.4');
  assert.equal(code, 0, err);
  assert.match(out, /v1\.36\.4 is installed in /);
  assert.deepEqual(
    server.asked.filter((path) => !/sha|etcd/i.test(path)),
    ['/release/v1.36.4/bin/linux/amd64/kube-scheduler', '/elsewhere/release/v1.36.4/bin/linux/amd64/kube-scheduler'].map((path) =>
      path.replace('amd64', process.arch === 'x64' ? 'amd64' : process.arch),
    ),
    'what was fetched before is not fetched again',
  );
  assert.deepEqual((await readdir(bin)).sort(), ['etcd', 'etcdutl', 'kine', 'v1.36.4']);
  assert.deepEqual((await readdir(join(bin, 'v1.36.4'))).sort(), programs);
  assert.match((await admin('install', 'v1.36.4')).out, /installed already/);
  server.fail('kube-apiserver', 'huge');
  await refused(/has more than 512 MiB/, 'v1.35.8');
  server.heal();
  server.fail('kube-apiserver', 'missing');
  server.fail('kube-apiserver.sha512', 'missing');
  server.fail('kube-apiserver.sha256', 'missing');
  await refused(/there is no release file .*QUARTERDECK_CLUSTER_MIRROR/, 'v9.9.9');
  assert.match((await admin('list')).out, /v1\.36\.4 +installed/);
});

test('a version is installed where etcd cannot be had; the same command brings etcd later', async (t) => {
  const server = await releases(t);
  const { bin, admin } = await installer(t, { QUARTERDECK_CLUSTER_MIRROR: server.url });
  const programsOf = async () => (await readdir(bin)).sort().join();
  for (const [fault, why] of [
    ['missing', /there is no release file .*etcd-v3\.6\.16-linux-/],
    ['altered', /does not have its sha256 checksum|cannot be unpacked/],
    ['short', /does not have its sha256 checksum/],
    ['cut', /broke off/],
  ] as const) {
    server.heal();
    server.fail('.tar.gz', fault);
    const { code, err } = await admin('install', 'v1.36.4');
    assert.equal(code, 0, err);
    assert.match(err, /etcd is not installed, so new clusters have no dedicated datastore; the same command tries again\./);
    assert.match(err, why);
    assert.equal(await programsOf(), 'kine,v1.36.4');
  }
  server.heal();
  const { code, err, out } = await admin('install', 'v1.36.4');
  assert.equal(code, 0, err);
  assert.match(out, /installed already/);
  assert.equal(await programsOf(), 'etcd,etcdutl,kine,v1.36.4');
});

test('without internet the install names the other ways', async (t) => {
  const nowhere = `127.0.0.1:${await freePort()}`;
  for (const [setting, value] of [
    ['QUARTERDECK_CLUSTER_MIRROR', `http://${nowhere}`],
    ['QUARTERDECK_DNS_SERVERS', nowhere],
  ] as const) {
    const { admin, isInstalled } = await installer(t, { [setting]: value });
    const { code, err } = await admin('install', 'v1.36.4');
    assert.equal(code, 11);
    assert.match(err, /cannot be fetched: .*; without internet, --from <folder> .*, --build makes them with Go/);
    assert.equal(await isInstalled('v1.36.4'), false);
  }
});

test('an answer that never ends is cut where no program is as long, and nothing of it stays', async (t) => {
  const server = await releases(t);
  const { bin, admin } = await installer(t, { QUARTERDECK_CLUSTER_MIRROR: server.url });
  const before = maxBytes.program;
  maxBytes.program = 8 * 2 ** 20;
  t.after(() => {
    maxBytes.program = before;
  });
  const parts = async () => (await readdir(bin, { recursive: true })).filter((name) => name.endsWith('.part'));
  server.fail('kube-apiserver', 'endless');
  const { code, err } = await admin('install', 'v1.36.4');
  assert.notEqual(code, 0);
  assert.match(err, /kube-apiserver has more than 8 MiB, which no program of Kubernetes has; nothing was installed/);
  assert.ok(server.sent() < 32 * 2 ** 20, `${server.sent()} bytes were taken`);
  assert.deepEqual(await parts(), []);
  server.heal();
  server.fail('kube-apiserver.sha512', 'endless');
  assert.match((await admin('install', 'v1.36.4')).err, /kube-apiserver\.sha512 cannot be read: .* more than 65536 bytes/);

  // One that does not go on where the first try broke off sends all of it again, and has all of the room for it.
  server.heal();
  const size = 200_100;
  maxBytes.program = size + 50_000;
  server.fail('kube-apiserver', 'cut');
  assert.match((await admin('install', 'v1.36.4')).err, /run the command again, and it goes on from there/);
  assert.equal((await parts()).length, 1);
  server.heal();
  server.fail('kube-apiserver', 'no-ranges');
  const again = await admin('install', 'v1.36.4');
  assert.equal(again.code, 0, again.err);
});

test('a folder in the same layout is installed from, if its programs are what they are taken for', async (t) => {
  const { dir, bin, admin, isInstalled } = await installer(t);
  const from = join(dir, 'from');
  await installFakes(from, ['v1.36.4']);
  await mkdir(join(from, 'v1.35.8'));
  for (const name of programs) {
    await writeFile(join(from, 'v1.35.8', name), await readFile(join(from, 'v1.36.4', name)));
    await chmod(join(from, 'v1.35.8', name), 0o755);
  }
  assert.match(
    (await admin('install', 'v1.35.8', '--from', from)).err,
    /says that it is “Kubernetes v1\.36\.4”, not v1\.35\.8; nothing was installed/,
  );
  assert.equal(await isInstalled('v1.35.8'), false);
  assert.match((await admin('install', 'v1.34.1', '--from', from)).err, /cannot be copied \(ENOENT\)/);
  assert.equal((await admin('install', 'v1.36.4', '--from', from)).code, 0);
  assert.equal(await isInstalled('v1.36.4'), true);
  assert.equal((await readdir(bin)).includes('kine'), true);
  assert.match((await admin('install', 'v1.36.4', '--from', from, '--build')).err, /exclude each other/);
});

test('programs are built with Go, the staging modules at the version of the release', async (t) => {
  const module = ['module k8s.io/kubernetes', '', 'go 1.26.0', 'replace (', '\tk8s.io/api => ./staging/src/k8s.io/api', ')', ''].join('\n');
  assert.deepEqual(builderModule('v1.36.4', module).trim().split('\n'), [
    'module builder',
    'go 1.26.0',
    'require k8s.io/kubernetes v1.36.4',
    'replace k8s.io/api => k8s.io/api v0.36.4',
  ]);
  const { dir, bin, admin } = await installer(t, {});
  await writeFile(join(dir, 'go.mod'), module);
  // Stands in for go: answers a download, and "builds" programs that say what the linker was told.
  const go = `#!/bin/sh
case "$1 $2" in
  "mod download") echo '{"Dir": "${dir}"}';;
  "mod tidy") grep -q 'replace k8s.io/api => k8s.io/api v0.36.4\\|require github.com/k3s-io/kine v0.14.16\\|require go.etcd.io/etcd/server/v3 v3.6.16' go.mod || exit 3;;
  build*) case "$7" in
    github.com/k3s-io/kine) printf '#!/bin/sh\\necho kine version v0.14.16\\n' > "$6";;
    go.etcd.io/etcd/server/v3) printf '#!/bin/sh\\necho etcd Version: 3.6.16\\n' > "$6";;
    go.etcd.io/etcd/etcdutl/v3) printf '#!/bin/sh\\necho etcdutl version: 3.6.16\\n' > "$6";;
    k8s.io/kubernetes/cmd/kube-*) printf '#!/bin/sh\\necho Kubernetes v1.36.4\\n' > "$6";;
    *) exit 4;;
  esac;;
esac
`;
  await mkdir(join(dir, 'path'));
  await writeFile(join(dir, 'path', 'go'), go);
  await chmod(join(dir, 'path', 'go'), 0o755);
  const withGo = await installer(t, { PATH: `${join(dir, 'path')}:${process.env.PATH}`, QUARTERDECK_CLUSTER_BINARIES: bin });
  const { code, err } = await withGo.admin('install', 'v1.36.4', '--build');
  assert.equal(code, 0, err);
  assert.deepEqual((await readdir(join(bin, 'v1.36.4'))).sort(), programs);
  assert.deepEqual((await readdir(bin)).sort(), ['etcd', 'etcdutl', 'kine', 'v1.36.4']);
  const without = await installer(t, { PATH: join(dir, 'nowhere') });
  assert.match((await without.admin('install', 'v1.36.4', '--build')).err, /there is no `go` in the PATH/);
  assert.equal((await admin('list', '--json')).code, 0);
});

test('a version that clusters have is not removed', async (t) => {
  const qd = await quarterdeck(t, { env: { QUARTERDECK_ROLES: 'api', QUARTERDECK_PUBLIC_URL: 'http://localhost' } });
  const env = { QUARTERDECK_DATABASE_URL: urlOf(qd.connection), QUARTERDECK_DATA: qd.dataDir };
  const bin = join(qd.dataDir, 'clusters', 'bin');
  await installFakes(bin, ['v1.36.4']);
  const shard = '00000000-0000-4000-8000-000000000001';
  await qd.app.db.write((tx) => run(tx)`insert into clusters.shard (id, seen_at, versions) values (${shard}, kernel.now(), '{v1.36.4}')`);
  assert.equal((await qd.owner.post('/clusters', { name: 'prod', tier: 'small', orchestratorVersion: 'v1.36.4' })).status, 201);
  assert.match((await adminHere(['clusters', 'remove', 'v1.36.4'], env)).err, /1 clusters run v1\.36\.4; upgrade or delete them first/);
  await qd.app.db.write((tx) => run(tx)`delete from clusters.cluster`);
  assert.equal((await adminHere(['clusters', 'remove', 'v1.36.4'], env)).code, 0);
  const audited = async () =>
    JSON.parse((await adminHere(['audit', '--installation', '--json'], env)).out) as { action: string; target: string }[];
  assert.deepEqual((await audited()).map(({ action, target }) => [action, target]).slice(0, 1), [['clusters.version.remove', 'v1.36.4']]);
  await eventually(async () => (await readdir(bin)).join() === 'kine');
  assert.match((await adminHere(['clusters', 'remove', 'v1.36.4'], env)).err, /is not in /);
  assert.equal((await audited()).length, 1, 'what was not done is not said to be');
  const { dir: from } = await scratch(t);
  await installFakes(from, ['v1.36.4']);
  assert.equal((await adminHere(['clusters', 'install', 'v1.36.4', '--from', from], env)).code, 0);
  assert.equal((await audited())[0]!.action, 'clusters.version.install');
});
