import assert from 'node:assert/strict';
import { cp, mkdir, readFile, symlink, unlink, writeFile } from 'node:fs/promises';
import http from 'node:http';
import { join } from 'node:path';
import { test } from 'node:test';
import pg from 'pg';
import { adminOf, readyCluster } from '../../src/areas/clusters/test/support.ts';
import { connectRunning } from '../../src/kernel/postgres/index.ts';
import { smtpSink } from '../fakes/smtp-sink.ts';
import { freePort } from '../harness/free-port.ts';
import { caller } from '../harness/index.ts';
import { eventually, postgresOf, scratch } from '../harness/process.ts';
import { childrenOf, quarterdeckCommand, startParent } from './a-parent.ts';
import { ask, mailer, objectMaker, pusher, runLoad, slowPush, tokenMaker, watchObjects } from './reload-load.ts';

const root = join(import.meta.dirname, '..', '..');

/** A release that cannot be started: its program imports what is not there. */
async function brokenRelease(dir: string): Promise<string> {
  const release = join(dir, 'broken');
  await mkdir(join(release, 'src'), { recursive: true });
  await cp(join(root, 'bin'), join(release, 'bin'), { recursive: true });
  await symlink(join(root, 'node_modules'), join(release, 'node_modules'));
  await writeFile(join(release, 'src', 'main.ts'), `import './what-is-not-there.ts';\n`);
  return release;
}

test('a reload under load refuses no connection and fails no request, and a broken program changes nothing', async (t) => {
  const { dir, dataDir } = await scratch(t, { isMigrated: true });
  const sink = await smtpSink(t);
  const [port, smtpPort, plainPort] = [await freePort(), await freePort(), await freePort()];
  const url = `http://127.0.0.1:${port}`;
  const current = join(dir, 'current');
  await symlink(root, current);
  const parent = startParent(t, dir, {
    script: join(current, 'bin', 'quarterdeck.mjs'),
    env: {
      QUARTERDECK_LISTEN: `127.0.0.1:${port}`,
      QUARTERDECK_HTTP_LISTEN: `127.0.0.1:${plainPort}`,
      QUARTERDECK_SMTP_SUBMISSION: `127.0.0.1:${smtpPort}`,
      QUARTERDECK_SMTP_RELAY: `smtp://127.0.0.1:${sink.port}?ignoreTLS=true`,
      QUARTERDECK_SMTP_RATE: '0',
    },
  });
  await parent.hears(/is ready at/);
  const key = (await readFile(join(dataDir, 'owner.token'), 'utf8')).trim();
  const owner = caller(url, key);
  const made = async (path: string, body: object) => {
    const { status, body: found } = await owner.post(path, body);
    assert.equal(status, 201, JSON.stringify(found));
    return found;
  };

  // What each area needs.
  await made('/registry/registries', { slug: 'acme' });
  const { keyId, secret } = await made('/registry/registries/acme/keys', { name: 'load', mode: 'readwrite' });
  const authorization = `Basic ${Buffer.from(`${keyId}:${secret}`).toString('base64')}`;
  await made('/email/domains', { name: 'example.com' });
  const database = new pg.Client({ ...(await connectRunning(dataDir))! });
  database.on('error', () => {}); // a failed test stops it
  await database.connect();
  t.after(() => database.end());
  await database.query(`update email.domain set send_state = 'verified'`);
  const { secret: sendKey } = await made('/email/keys', { name: 'load' });
  await readyCluster(owner, { name: 'watched' });
  const way = await adminOf(owner, 'watched');
  const { id: serviceId } = await made('/oncall/services', { name: 'load' });
  const { rows: members } = await database.query('select id from identity.account');
  const steps = [{ target: { kind: 'user', id: members[0].id, label: '' }, waitSeconds: 600 }];
  const policy = await made('/oncall/escalation-policies', { name: 'load', repeat: 0, steps });
  assert.equal((await owner.put(`/oncall/services/${serviceId}`, { escalationPolicyId: policy.id })).status, 200);

  const reused = new http.Agent({ keepAlive: true, maxSockets: 1 });
  const load = runLoad({
    requests: tokenMaker(url, key, 'own', false),
    'requests on one connection': tokenMaker(url, key, 'one', reused),
    pushes: pusher(url, authorization, 'acme/load'),
    redirects: async () => {
      const sent = await ask(`http://127.0.0.1:${plainPort}/docs`, { agent: false });
      assert.equal(sent.status, 308, sent.text);
      return sent.headers.location!;
    },
    mail: mailer(smtpPort, sendKey),
    objects: objectMaker(way),
    incidents: async (n) => {
      const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
      const sent = await ask(`${url}/api/v1/oncall/incidents`, {
        method: 'POST',
        agent: false,
        headers,
        body: JSON.stringify({ serviceId, title: `incident ${n} of the load` }),
      });
      assert.equal(sent.status, 201, sent.text);
      return `incident ${n} of the load`;
    },
  });
  const watch = watchObjects(t, way);
  await load.progress(3);
  const postgres = await postgresOf(dataDir);
  const [server] = await childrenOf(parent.pid);

  const replaced = Promise.withResolvers<void>();
  const slow = slowPush(url, authorization, 'acme/slow', replaced.promise);
  const reloads = await Promise.all([1, 2].map(() => quarterdeckCommand(dir, ['admin', 'reload'])));
  const [outcome] = reloads;
  assert.match(outcome!.said, /^reload: \S+ was replaced by \S+; no connection waited longer than \d+\.\d\d s$/m);
  t.diagnostic(outcome!.said.trim());
  for (const each of reloads) assert.deepEqual(each, { code: 0, said: outcome!.said }, 'two reloads at once are one');
  await load.progress(3);
  replaced.resolve();
  const [told, finished] = await slow;
  assert.deepEqual([told!.status, told!.headers['x-error-code'], finished!.status], [503, 'stopping', 201], finished!.text);

  // The same PostgreSQL, under another server.
  assert.equal(await postgresOf(dataDir), postgres);
  const [successor] = await childrenOf(parent.pid);
  assert.notEqual(successor, server);

  // A program that cannot be started, and one that is killed while it loads.
  await unlink(current);
  await symlink(await brokenRelease(dir), current);
  const broken = await quarterdeckCommand(dir, ['admin', 'reload']);
  assert.equal(broken.code, 11, broken.said);
  assert.match(broken.said, /the reload was called off: .*what-is-not-there\.ts.*; \S+ goes on/);
  await unlink(current);
  await symlink(root, current);
  const killed = quarterdeckCommand(dir, ['admin', 'reload']);
  const next = await eventually(async () => (await childrenOf(parent.pid)).find((pid) => pid !== successor), { withinMs: 60_000 });
  process.kill(next, 'SIGKILL');
  assert.match((await killed).said, /the reload was called off: the next server ended with SIGKILL.*; \S+ goes on/);
  assert.deepEqual(await childrenOf(parent.pid), [successor]);
  await load.progress(3);

  const { done, told: toldOthers, failures } = await load.end();
  t.diagnostic(`told to come again: ${toldOthers}; acknowledged: ${[...done].map(([name, { length }]) => `${length} ${name}`).join(', ')}`);
  assert.deepEqual([...failures, ...watch.failures], []);

  // What was acknowledged is there.
  const column = async (sql: string) => (await database.query({ text: sql, rowMode: 'array' })).rows.map(([value]) => value as string);
  const missing = (name: string, kept: Iterable<string>) => {
    const there = new Set(kept);
    return done.get(name)!.filter((one) => !there.has(one));
  };
  const tokens = await column('select id from identity.token');
  assert.deepEqual([...missing('requests', tokens), ...missing('requests on one connection', tokens)], []);
  assert.deepEqual(missing('pushes', await column('select digest from registry.blob')), []);
  assert.deepEqual(missing('mail', await column('select subject from email.message')), []);
  await eventually(async () => missing('objects', watch.seen).length === 0);
  assert.ok(watch.opened() > 1);
  const paged = () => sink.messages.map(({ data }) => /incident \d+ of the load/.exec(String(data))?.[0] ?? '');
  await eventually(async () => missing('incidents', paged()).length === 0, { withinMs: 60_000 });

  await watch.end();
  await database.end();
  process.kill(parent.pid, 'SIGTERM');
  assert.deepEqual(await parent.ended, [0, null]);
  assert.equal(await postgresOf(dataDir), undefined);
});
