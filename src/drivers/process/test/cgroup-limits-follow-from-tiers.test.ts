import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  cgroupLimitsOf,
  findOwnDirectory,
  largerLimits,
  limitFileContents,
  missingControllers,
  parseLimits,
  parseOomKills,
} from '../rules/cgroup.ts';

const line = (root: string, point: string) =>
  `24 1 0:22 / /proc rw - proc proc rw\n30 24 0:26 ${root} ${point} rw,nosuid shared:4 - cgroup2 cgroup2 rw\n`;

const limitsFor = (tier: string, replicas: number) => cgroupLimitsOf({ tier, replicas, store: 'kine', datastore: {} });

test('the server’s own cgroup is found at its mount, and no other directory is mistaken for it', () => {
  const find = (path: string, root: string, point = '/sys/fs/cgroup') => findOwnDirectory(`0::${path}\n`, line(root, point));
  assert.equal(find('/system.slice/quarterdeck.service', '/'), '/sys/fs/cgroup/system.slice/quarterdeck.service');
  assert.equal(find('/', '/'), '/sys/fs/cgroup');
  // A container whose mount shows a part of the machine's hierarchy.
  assert.equal(find('/docker/abc', '/docker/abc'), '/sys/fs/cgroup');
  assert.equal(find('/docker/abc/server', '/docker/abc', '/my\\040cgroups'), '/my cgroups/server');
  assert.equal(find('/docker/abcd', '/docker/abc'), undefined);
  // Outside the namespace.
  assert.equal(find('/../other', '/'), undefined);
  // Version 1, also beside an empty version 2 that is not mounted.
  assert.equal(findOwnDirectory('4:memory:/a\n1:cpu:/\n', line('/', '/sys/fs/cgroup')), undefined);
  assert.equal(findOwnDirectory('4:memory:/a\n0::/\n', '30 24 0:26 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n'), undefined);
});

test('a cluster’s limits fit two sets of apiservers, and grow with its tier and replicas', () => {
  assert.deepEqual(limitsFor('small', 1), { highMiB: 1_600, maxMiB: 2_000, weight: 100 });
  const all = (['small', 'medium', 'large'] as const).flatMap((tier) => [1, 2, 3].map((replicas) => limitsFor(tier, replicas)));
  for (const { highMiB, maxMiB: mostMiB } of all) assert.ok(highMiB < mostMiB);
  for (let n = 1; n < 3; n++) assert.ok(all[n]!.highMiB > all[n - 1]!.highMiB);
  const [small, medium] = [limitsFor('small', 3), limitsFor('medium', 1)];
  assert.deepEqual(largerLimits(small, medium), largerLimits(medium, small));
  assert.ok(largerLimits(small, medium).maxMiB >= Math.max(small.maxMiB, medium.maxMiB));
  assert.deepEqual(limitFileContents(limitsFor('small', 1)), [
    ['memory.max', String(2_000 * 2 ** 20)],
    ['memory.high', String(1_600 * 2 ** 20)],
    ['cpu.weight', '100'],
  ]);
  assert.deepEqual(parseLimits(limitFileContents(medium).map(([, value]) => `${value}\n`)), medium);
  // A new cgroup.
  assert.deepEqual(largerLimits(parseLimits(['max\n', 'max\n', '100\n']), small), small);
});

test('missing controllers and OOM kills are read from the kernel’s files', () => {
  assert.deepEqual(missingControllers('cpuset cpu io memory pids\n'), []);
  assert.deepEqual(missingControllers('hugetlb\n'), ['memory', 'cpu']);
  assert.equal(parseOomKills('low 0\nhigh 0\nmax 12\noom 3\noom_kill 2\noom_group_kill 0\n'), 2);
  assert.equal(parseOomKills(''), 0);
});

test('a cluster with an etcd of its own has room for two sets of members', () => {
  const onEtcd = (size: string, replicas: number) =>
    cgroupLimitsOf({ tier: 'small', replicas: 1, store: 'etcd', datastore: { size, replicas } });
  assert.equal(onEtcd('db-small', 1).highMiB, limitsFor('small', 1).highMiB - 256 + 2 * 256);
  assert.equal(onEtcd('db-medium', 3).highMiB - onEtcd('db-medium', 1).highMiB, 4 * 1_024);
  assert.equal(onEtcd('db-small', 2).highMiB, onEtcd('db-small', 3).highMiB, 'an even number becomes the next odd one');
});
