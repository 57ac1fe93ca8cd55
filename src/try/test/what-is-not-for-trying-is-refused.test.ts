import assert from 'node:assert/strict';
import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { runHere } from '../../../cli/test/cli-context.ts';
import { recording, run } from '../../../cli/test/support.ts';
import { prepareStart } from '../../boot/prepare-start.ts';
import { readConfig } from '../../kernel/config.ts';
import { exitCodes } from '../../kernel/errors.ts';
import { makeLog } from '../../kernel/log.ts';
import { BoundedList } from '../bounded-list.ts';
import { openTryWorld } from '../index.ts';
import { inboxLimits, makeInbox } from '../mail-sink.ts';

test('what is not for trying is refused', async (t) => {
  const dir = await mkdtemp(join(tmpdir(), 'qdt-'));
  t.after(() => rm(dir, { recursive: true, force: true }));
  const log = makeLog('silent');
  const open = (env: Record<string, string>) => {
    const { config, explained } = readConfig({ QUARTERDECK_DATA: join(dir, 'data'), ...env }, dir);
    return openTryWorld(config, explained, log);
  };

  await t.test('an external database, S3, another interface and a proxy', async () => {
    const refused: [Record<string, string>, RegExp][] = [
      [{ QUARTERDECK_DATABASE_URL: 'postgres://127.0.0.1:1/x' }, /unset QUARTERDECK_DATABASE_URL/],
      // Clusters of Kubernetes' own programs would keep their data there.
      [{ QUARTERDECK_DATABASE_DIRECT_URL: 'postgres://127.0.0.1:1/x' }, /unset QUARTERDECK_DATABASE_DIRECT_URL/],
      [{ QUARTERDECK_STORAGE: 's3://bucket/x' }, /unset QUARTERDECK_STORAGE/],
      ...['LISTEN', 'SMTP_SUBMISSION', 'SMTPS', 'SMTP_INBOUND', 'CLUSTER_LISTEN', 'METRICS_LISTEN'].map(
        (name): [Record<string, string>, RegExp] => [
          { [`QUARTERDECK_${name}`]: '0.0.0.0:0' },
          new RegExp(`loopback only.*QUARTERDECK_${name} names 0`),
        ],
      ),
      [{ QUARTERDECK_TRUSTED_PROXIES: '127.0.0.1' }, /no proxy in front/],
    ];
    for (const [env, why] of refused) await assert.rejects(open(env), { message: why, exitCode: exitCodes.configuration });
    assert.deepEqual(await readdir(dir), [], 'nothing was made');
  });

  await t.test('a directory that was used in earnest', async () => {
    const earnest = await mkdtemp(join(dir, 'earnest-'));
    await writeFile(join(earnest, 'secret.key'), 'x');
    await assert.rejects(open({ QUARTERDECK_DATA: earnest }), { message: /in use already/, exitCode: exitCodes.dataDirectory });
    assert.deepEqual(await readdir(earnest), ['secret.key']);
  });

  await t.test('a directory of --try, without it', async () => {
    const world = await open({});
    await world.stop();
    await assert.rejects(prepareStart(world.config, log), { message: /made by serve --try/, exitCode: exitCodes.dataDirectory });
    const { code, stderr } = await run(['serve'], { cwd: dir, env: { QUARTERDECK_DATA: join(dir, 'data') } });
    assert.equal(code, exitCodes.dataDirectory);
    assert.match(stderr, /start with --try/);
    const again = await open({});
    await again.stop();
  });

  await t.test('a restore, and a command for another installation', async () => {
    const beside = await mkdtemp(join(dir, 'beside-'));
    await mkdir(join(beside, 'data-try'));
    await writeFile(join(beside, 'data-try', 'try.mark'), '');
    const env = { QUARTERDECK_DNS_SERVERS: '127.0.0.1:1' };
    const list = (more = {}) => run(['admin', 'organizations', 'list'], { cwd: beside, env: { ...env, ...more } });
    assert.match((await list()).stderr, /^with the data of serve --try in \.\/data-try/);
    assert.doesNotMatch((await list({ QUARTERDECK_DATA: join(beside, 'data') })).stderr, /serve --try/);
    const { code, stderr } = await run(['admin', 'restore', './nowhere'], { cwd: beside, env });
    assert.notEqual(code, 0);
    assert.doesNotMatch(stderr, /serve --try/);
    assert.deepEqual(await readdir(join(beside, 'data-try')), ['try.mark']);
    // Its ports and settings of mail are not those of the environment, so the doctor judges none of them.
    const { stdout } = await run(['admin', 'doctor'], { cwd: beside, env });
    assert.match(stdout, /outside +this is serve --try/);
    assert.doesNotMatch(stdout, /QUARTERDECK_SMTP_RELAY|8080/);
  });

  await t.test('a server that was not started with --try, unless --really', async () => {
    const { url } = await recording(t, (response) => response.writeHead(404).end('{}'));
    const { code, stderr } = await runHere(['try', 'push'], { env: { QUARTERDECK_URL: url, QUARTERDECK_TOKEN: 'qd_pat_x' } });
    assert.equal(code, 24);
    assert.match(stderr, /was not started with --try.*--really/);
  });
});

test('the inbox keeps the newest messages within its bounds', () => {
  const inbox = makeInbox();
  const add = (bytes: number) => inbox.add({ from: '', to: [], at: '', raw: Buffer.alloc(0) }, bytes);
  for (let n = 0; n < inboxLimits.messages + 100; n++) add(1);
  assert.equal(inbox.newestFirst().length, inboxLimits.messages);
  assert.equal(inbox.newestFirst()[0]!.id, inboxLimits.messages + 100);
  assert.equal(inbox.find(100), undefined);
  for (let n = 0; n < 40; n++) add(2 ** 20);
  assert.ok(inbox.bytes <= inboxLimits.bytes, `${inbox.bytes} bytes`);
  assert.equal(inbox.newestFirst().length, 32);
  assert.ok(new BoundedList<{ id: number }>(3, 10).add({}, 50), 'one that is too large alone is still shown');
});
