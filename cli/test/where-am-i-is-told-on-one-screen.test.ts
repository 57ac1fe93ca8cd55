import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { quarterdeck } from '../../test/harness/index.ts';
import { exitCodes } from '../exit.ts';
import { judgeStatus } from '../where/judge-status.ts';
import { layOut } from '../where/words.ts';
import { cliHere, runHere } from './cli-context.ts';

test('where you are is told on one screen, by name, and to a narrow token as far as it may see', async (t) => {
  const qd = await quarterdeck(t);
  const { owner, url, app } = qd;
  const cli = cliHere(url, owner.key);

  await t.test('a quiet installation is right', async () => {
    const { code, stdout, stderr } = await cli('status', '--check');
    assert.deepEqual([code, stderr], [0, '']);
    assert.match(stdout, new RegExp(`^${RegExp.escape(owner.email)} \\(owner\\) in default\n${RegExp.escape(url)}\n`));
    assert.match(stdout, new RegExp(`^ok   servers     ${RegExp.escape(app.version)} \\(api, registry,`, 'm'));
    assert.match(stdout, /^ok {3}database {4}PostgreSQL \d+/m);
    for (const subject of ['monitors', 'incidents', 'clusters', 'quotas', 'mail', 'on call'])
      assert.match(stdout, new RegExp(`^ok   ${subject} `, 'm'));
    assert.ok(stdout.split('\n').length < 20, stdout);
  });

  await t.test('an open incident is wrong, and -o json has the same', async () => {
    const service = await owner.post('/oncall/services', { name: 'checkout' });
    await owner.post('/oncall/incidents', { serviceId: service.body.id, title: 'checkout\u001b[31m is down' });
    const shown = await cli('status', '--check');
    assert.equal(shown.code, exitCodes.wrong);
    assert.match(shown.stdout, /^fail incidents {3}1: checkout\\x1b\[31m is down \(open, \d+s\)$/m);
    assert.match(shown.stderr, /1 thing is wrong/);
    assert.equal((await cli('status')).code, 0);
    const told = JSON.parse((await cli('status', '-o', 'json')).stdout);
    assert.deepEqual(
      told.incidents.map((i: { service: string; status: string }) => [i.service, i.status]),
      [['checkout', 'open']],
    );
    assert.deepEqual(told.notAsked, []);
    assert.equal(told.wrong.length, 1);
  });

  await t.test('a token that is narrowed is told which questions it may not ask', async () => {
    const narrow = await qd.narrowed(owner, [{ role: 'uptime.viewer' }]);
    const { code, stdout } = await cliHere(url, narrow.key)('status');
    assert.equal(code, 0);
    assert.match(stdout, /^ok {3}monitors {4}none yet$/m);
    assert.match(stdout, /^\? {4}not asked {3}incidents, /m);
  });

  await t.test('the group of the same name keeps its commands, and refuses others', async () => {
    const pages = await cli('status', 'pages', 'list', '--json');
    assert.deepEqual([pages.code, JSON.parse(pages.stdout)], [0, { pages: [] }]);
    const mistyped = await cli('status', 'pgaes');
    assert.equal(mistyped.code, exitCodes.usage);
    assert.match(mistyped.stderr, /pages/);
  });

  await t.test('version tells both sides, without a token too', async () => {
    const same = await cli('version');
    assert.deepEqual([same.code, same.stderr], [0, '']);
    assert.equal(same.stdout, `command line  ${app.version}\nserver        ${app.version}  ${url}\n`);
    const anonymous = await runHere(['version', '--url', url]);
    assert.match(anonymous.stdout, new RegExp(`^server {8}${RegExp.escape(app.version)} `, 'm'));
    const nowhere = await runHere(['version', '--url', 'http://127.0.0.1:1', '--json']);
    assert.deepEqual([nowhere.code, JSON.parse(nowhere.stdout).server], [0, null]);
  });

  await t.test('help of a command is its --help, and suggests at every level', async () => {
    const [help, flag] = [await cli('help', 'tokens', 'create'), await cli('tokens', 'create', '--help')];
    assert.deepEqual([help.code, help.stdout], [0, flag.stdout]);
    for (const [words, meant] of [
      [['emial'], 'email'],
      [['email', 'domian', 'list'], 'domains'],
      [['tokens', 'create', '--nmae', 'x'], '--name'],
      [['help', 'email', 'domian'], 'domains'],
    ] as const) {
      const { code, stderr } = await cli(...words);
      assert.equal(code, exitCodes.usage, words.join(' '));
      assert.match(stderr, new RegExp(`Did you mean ${meant}\\?`), words.join(' '));
    }
  });

  await t.test('open prints the page, of a status page by its slug', async () => {
    assert.equal((await cli('open', 'docs')).stdout, `${url}/docs\n`);
    const unknown = await cli('open', 'status', 'none');
    assert.equal(unknown.code, exitCodes.notFound);
    const service = await owner.post('/oncall/services', { name: 'shop' });
    const made = await owner.post('/status-pages', { slug: 'acme', title: 'Acme', serviceIds: [service.body.id] });
    assert.equal(made.status, 201, JSON.stringify(made.body));
    const { code, stdout } = await cli('open', 'status', 'acme');
    assert.equal(code, 0);
    assert.match(stdout, /^http.+acme\n$/);
  });

  await t.test('what is unknown is named with the list beside', async () => {
    const { code, stderr } = await cli('registry', 'get', 'nothing');
    assert.equal(code, exitCodes.notFound);
    assert.match(stderr, /unknown registry "nothing"; quarterdeck registry list shows them/);
  });

  await t.test('the address in owner.url is used, one of another machine never', async (t) => {
    const data = await mkdtemp(join(tmpdir(), 'qdw-'));
    t.after(() => rm(data, { recursive: true, force: true }));
    const env = { QUARTERDECK_DATA: data, QUARTERDECK_TOKEN: owner.key };
    await writeFile(join(data, 'owner.url'), `${url}\n`);
    const found = await runHere(['whoami', '--json'], { env });
    assert.deepEqual([found.code, JSON.parse(found.stdout).server], [0, url]);
    await writeFile(join(data, 'owner.url'), 'http://192.0.2.1:8080\n');
    const away = await runHere(['version', '--json'], { env: { QUARTERDECK_DATA: data } });
    assert.equal(JSON.parse(away.stdout).url, 'http://127.0.0.1:8080');
  });
});

test('a report of a bad day fits a terminal of 80 columns', () => {
  const long = 'x'.repeat(10_000);
  const now = Date.parse('2026-01-02T00:00:00.000Z');
  const before = '2026-01-01T00:00:00.000Z';
  const lines = judgeStatus(
    {
      user: 'a@example.com',
      server: 'http://127.0.0.1:8080',
      commandLine: '1.0.0',
      installation: {
        version: '1.1.0',
        servers: [{ version: '1.1.0', roles: ['api'] }, { roles: [] }],
        database: { kind: 'external', version: '18.1' },
        disk: 'low',
        held: false,
      },
      monitors: { total: 9, isPartial: false, down: Array.from({ length: 9 }, () => ({ name: long, since: before })) },
      incidents: Array.from({ length: 9 }, () => ({ title: long, service: long, status: 'acknowledged', openedAt: before })),
      nearlyFull: [{ name: 'registry team', used: 95, limit: 100, unit: 'bytes' }],
      mail: { paused: true, pauseReason: long, waiting: 100, isPartial: true },
      domains: { total: 1, failed: ['mail.example.com'] },
      clusters: { total: 2, notReady: [{ name: 'blue', phase: 'failed' }] },
      onCall: Array.from({ length: 50 }, () => ({ schedule: long, participants: 0 })),
      notAsked: [{ question: 'registries', why: 'the server answered 500 without saying why', isForbidden: false }],
    },
    now,
  );
  const text = layOut(lines, 80);
  for (const line of text.split('\n')) assert.ok(line.length <= 80, line);
  assert.ok(text.split('\n').length <= 40, text);
  assert.match(text, /^fail mail {8}sending is paused/m);
  assert.match(text, /^fail registries {2}no answer: the server answered 500/m);
  assert.match(text, /^warn servers {5}1\.1\.0 \(api\); older release \(roles unknown\); servers run$/m);
});
