import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { quarterdeck as client } from '../../sdk/index.ts';
import { readThings } from '../../sdk/things.ts';
import { quarterdeck } from '../../test/harness/index.ts';
import { listThings } from '../names/find.ts';
import { runHere } from './cli-context.ts';

// One server for all: each test has names of its own.
let server: Awaited<ReturnType<typeof quarterdeck>>;
let home: string;
let folder: string;
const cli = (...args: string[]) =>
  runHere(args, { env: { QUARTERDECK_URL: server.url, QUARTERDECK_TOKEN: server.owner.key, XDG_STATE_HOME: home } });

/** The answer as data. */
const data = async (...args: string[]) => {
  const { code, stdout, stderr } = await cli(...args, '--json');
  assert.equal(code, 0, stderr);
  return JSON.parse(stdout);
};

test('things are named as people name them', async (t) => {
  server = await quarterdeck(t);
  home = mkdtempSync(join(tmpdir(), 'qdh-'));
  folder = mkdtempSync(join(tmpdir(), 'qdf-'));
  t.after(() => {
    for (const path of [home, folder]) rmSync(path, { recursive: true, force: true });
  });
  const { owner, member, organization } = server;

  await t.test('the tour of on-call needs no id and no JSON', async () => {
    await member(owner, 'member', 'alice@example.com');
    await data('oncall', 'services', 'create', '--name', 'checkout');
    const schedule = await data(
      ...['oncall', 'schedules', 'create', '--name', 'primary', '--timezone', 'Europe/Paris'],
      ...['--participant', owner.email.toUpperCase(), '--participant', 'alice@example.com', '--handoff', 'weekly,tue,09:00'],
    );
    assert.deepEqual(schedule.handoff, { interval: 'weekly', dow: 2, time: '09:00' });
    assert.equal(schedule.participants[0].userId, owner.userId);
    assert.ok(schedule.participants[1].label);
    const policy = await data(
      ...['oncall', 'escalation-policies', 'create', '--name', 'night', '--repeat', '1'],
      ...['--step', 'schedule=primary,wait=5m', '--step', 'user=alice@example.com,wait=90s', '--remind-after', '1h'],
    );
    assert.deepEqual(
      policy.steps.map((step: { target: { kind: string; id: string }; waitSeconds: number }) => [step.target.kind, step.waitSeconds]),
      [
        ['schedule', 300],
        ['user', 90],
      ],
    );
    assert.equal(policy.steps[0].target.id, schedule.id);
    assert.equal(policy.remindAfterSeconds, 3600);
    const set = await data('oncall', 'services', 'set', 'checkout', '--escalation-policy', '@last');
    assert.equal(set.escalationPolicyId, policy.id);
    assert.equal((await data('oncall', 'services', 'set', set.id.slice(0, 24), '--escalation-policy-id', 'night')).id, set.id);
  });

  await t.test('every kind of thing can be looked for', async () => {
    const { url } = server;
    const api = client({ url, token: owner.key });
    const finder = { api, url, env: {}, lists: new Map(), caller: async () => undefined };
    const listed = Object.values(readThings().things).filter(({ list }) => list && !list.params);
    for (const thing of listed) assert.equal((await listThings(finder, thing, [])).isCut, false, thing.word);
    assert.ok(listed.length > 15);
    const unknown = await cli('oncall', 'incidents', 'acknowledge', 'the shop is down');
    assert.match(unknown.stderr, /unknown incident "the shop is down"/);
  });

  await t.test('a file of YAML gives all fields, with names and units as in flags', async () => {
    const file = join(folder, 'policy.yaml');
    writeFileSync(
      file,
      `name: from a file\nrepeat: 0\nsteps:\n  - schedule: primary\n    wait: 10m\n  - target: { kind: user, id: alice@example.com }\n    waitSeconds: 60\n`,
    );
    const policy = await data('oncall', 'escalation-policies', 'create', '-f', file, '--repeat', '2');
    assert.deepEqual([policy.repeat, policy.steps.map((s: { waitSeconds: number }) => s.waitSeconds)], [2, [600, 60]]);

    writeFileSync(file, `name: &a [x]\nsteps: [*a, *a]\n`);
    const aliased = await cli('oncall', 'escalation-policies', 'create', '-f', file);
    assert.match(aliased.stderr, /^quarterdeck: \S+ is neither valid JSON nor YAML: /);
    writeFileSync(file, `nmae: x\n`);
    const wrong = await cli('oncall', 'escalation-policies', 'create', '-f', file);
    assert.match(wrong.stderr, /has nmae, which oncall escalation-policies create does not take\n$/);
    for (const content of ['a'.repeat(2 ** 20 + 1), '['.repeat(100_000), '- '.repeat(100_000), '- 1', '{{{', ': :\n\t- x']) {
      writeFileSync(file, content);
      assert.equal((await cli('oncall', 'escalation-policies', 'create', '-f', file)).code, 2, content.slice(0, 20));
    }
  });

  await t.test('what is unknown or ambiguous is told, and hostile names do not steer the terminal', async () => {
    const unknown = await cli('uptime', 'monitors', 'get', 'no such monitor');
    assert.deepEqual(
      [unknown.code, unknown.stderr],
      [22, 'quarterdeck: unknown monitor "no such monitor"; quarterdeck uptime monitors list shows them\n'],
    );
    const hostile = 'evil \u202e name';
    const ids = [];
    for (let n = 0; n < 2; n++) ids.push((await owner.post('/tokens', { name: hostile })).body.id);
    const { code, stderr } = await cli('tokens', 'update', hostile, '--name', 'x');
    assert.equal(code, 2);
    for (const id of ids) assert.ok(stderr.includes(`\n  ${id}  evil \\u202e name`), stderr);
    assert.ok(!stderr.includes('\u202e'));
    // A name that looks like the beginning of another's id decides nothing.
    await owner.post('/tokens', { name: ids[0].slice(0, 25) });
    assert.equal((await cli('tokens', 'update', ids[0].slice(0, 25), '--name', 'x')).code, 2);
  });

  await t.test('an exact id is never looked up', async () => {
    const { id } = (await owner.post('/tokens', { name: 'exact' })).body;
    // A token with that very name changes nothing: the id stands for itself.
    await owner.post('/tokens', { name: id });
    assert.equal((await data('tokens', 'update', id, '--name', 'still exact')).id, id);
  });

  await t.test('creates say what was made and what comes next, deletes what went', async () => {
    const made = await cli('uptime', 'services', 'create', '--name', 'shop');
    assert.match(made.stderr, /^made service shop \(svc_\w+\)\nnext: quarterdeck uptime monitors create --service-id shop --help\n$/);
    assert.match((await cli('uptime', 'services', 'delete', 'shop')).stderr, /^deleted service shop \(svc_\w+\)\n$/);
    const hidden = await cli('uptime', 'services', 'create', '--name', 'a;b $(x)', '--only', 'id');
    assert.equal(hidden.stderr, '');
    const named = await cli('uptime', 'services', 'create', '--name', '$(reboot)');
    assert.ok(!named.stderr.split('next:')[1]!.includes('$('), named.stderr);
  });

  await t.test('what cannot come back needs --yes in a script', async () => {
    await data('registry', 'create', '--slug', 'acme');
    const refused = await cli('registry', 'delete', 'acme');
    assert.equal(refused.code, 2);
    assert.match(refused.stderr, /registry acme cannot come back; say --yes to delete it without a question\n$/);
    assert.equal((await data('registry', 'get', 'acme')).slug, 'acme');
    assert.deepEqual(await cli('registry', 'delete', '@last', '--yes'), { code: 0, stdout: '', stderr: 'deleted registry acme\n' });
  });

  await t.test('@last is of one member in one organization, and its file holds no secret', async () => {
    const { key } = await data('tokens', 'create', '--name', 'secret one');
    const file = join(home, 'quarterdeck', 'last.json');
    assert.ok(!readFileSync(file, 'utf8').includes(key));
    assert.equal(statSync(file).mode & 0o777, 0o600);
    assert.equal((await data('tokens', 'update', '@last', '--name', 'renamed')).name, 'renamed');
    const other = await organization('other');
    const elsewhere = await runHere(['tokens', 'update', '@last', '--name', 'x'], {
      env: { QUARTERDECK_URL: server.url, QUARTERDECK_TOKEN: other.key, XDG_STATE_HOME: home },
    });
    assert.deepEqual([elsewhere.code, /you have made no token from this command line yet/.test(elsewhere.stderr)], [2, true]);
    const colleague = await server.member(owner, 'admin');
    const theirs = await runHere(['tokens', 'update', '@last', '--name', 'x'], {
      env: { QUARTERDECK_URL: server.url, QUARTERDECK_TOKEN: colleague.key, XDG_STATE_HOME: home },
    });
    assert.deepEqual([theirs.code, /you have made no token/.test(theirs.stderr)], [2, true], theirs.stderr);
    writeFileSync(file, '[broken');
    assert.equal((await cli('tokens', 'update', '@last', '--name', 'x')).code, 2);
  });

  await t.test('completion offers names, and only such as a shell takes as they are', async () => {
    for (const name of ['web-1', 'web-2', 'web $(reboot)', 'other']) await owner.post('/uptime/services', { name });
    const offered = async (...words: string[]) => (await cli('__complete', ...words)).stdout.trimEnd().split('\n').sort();
    assert.deepEqual(await offered('uptime', 'services', 'rename', 'web'), ['web-1', 'web-2']);
    assert.deepEqual(await offered('uptime', 'monitors', 'create', '--name', 'x', '--service', 'web-'), ['web-1', 'web-2']);
    assert.deepEqual(await offered('oncall', 'escalation-policies', 'create', '--step', 'schedule=pri'), ['schedule=primary']);
    assert.deepEqual(await offered('oncall', 'schedules', 'create', '--participant', 'alice'), ['alice@example.com']);
    assert.ok(!(await offered('uptime', 'services', 'rename', '')).some((word) => word.includes('$')));
    for (const nothing of [['nonsense'], ['tokens', 'list', ''], ['uptime', 'services', 'rename', '--url', 'http://127.0.0.1:9', '']])
      assert.deepEqual(await cli('__complete', ...nothing), { code: 0, stdout: '', stderr: '' }, nothing.join(' '));
  });

  await t.test('a send key is taken by either of its ids, and by its name', async () => {
    for (const field of ['id', 'keyId', 'name']) {
      const { sendKey } = await data('email', 'keys', 'create', '--name', 'mailer');
      assert.notEqual(sendKey.id, sendKey.keyId);
      const revoked = await cli('email', 'keys', 'revoke', sendKey[field]);
      assert.deepEqual([revoked.code, revoked.stderr.includes(sendKey.id)], [0, true], revoked.stderr);
    }
  });

  await t.test('resources of a scope are named, within the area of the role', async () => {
    const { id } = await data('uptime', 'services', 'create', '--name', 'narrow');
    const token = await data('tokens', 'create', '--name', 'viewer', '--scope', 'uptime.viewer,resource=narrow');
    const { tokens } = await data('tokens', 'list');
    assert.deepEqual(tokens.find((one: { id: string }) => one.id === token.id).scope[0].resourceIds, [id]);
  });
});
