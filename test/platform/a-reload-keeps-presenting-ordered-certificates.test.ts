import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { acmeScene, presentedBy, publicHost } from '../../src/areas/certificates/test/support.ts';
import { connectRunning } from '../../src/kernel/postgres/index.ts';
import { freePort } from '../harness/free-port.ts';
import { eventually, scratch } from '../harness/process.ts';
import { quarterdeckCommand, startParent } from './a-parent.ts';

const mailHost = 'mail.example.com';
const isIssued = ({ issuer }: { issuer: string }) => /Fake intermediate/.test(issuer);

test('a reload keeps presenting ordered certificates, and the order under way goes on', async (t) => {
  const { dir, dataDir } = await scratch(t, { isMigrated: true });
  const smtps = await freePort();
  const { authority, dns, env, ports } = await acmeScene(t, {
    QUARTERDECK_MAIL_HOST: mailHost,
    QUARTERDECK_SMTPS: `127.0.0.1:${smtps}`,
  });
  dns.zone[mailHost] = { A: ['127.0.0.1'] };
  const parent = startParent(t, dir, { env });
  await parent.hears(/is ready at/);
  const doors = [() => presentedBy(ports.tls, publicHost), () => presentedBy(smtps, mailHost)];
  const before = await Promise.all(
    doors.map((look) =>
      eventually(async () => {
        const found = await look();
        return isIssued(found) ? found : undefined;
      }),
    ),
  );
  assert.equal(authority.orders.length, 2);

  const database = new pg.Client({ ...(await connectRunning(dataDir))! });
  database.on('error', () => {}); // a failed test stops it
  await database.connect();
  t.after(() => database.end());

  // An order that the authority takes its time for.
  authority.manner.processing = Number.POSITIVE_INFINITY;
  const ordered = await quarterdeckCommand(dir, ['admin', 'certificates', 'order', publicHost], env);
  assert.equal(ordered.code, 0, ordered.said);
  await database.query(`select pg_notify('qd_wake', 'test certificates.keep')`); // else within a minute
  await eventually(async () => authority.orders.at(-1)?.status === 'processing' && authority.orders.length === 3);

  // What every handshake meanwhile is presented, at both doors. One that a busy machine cannot finish in time is cut, and presents nothing.
  let isOver = false;
  const strangers: string[] = [];
  let looks = 0;
  const looking = doors.map(async (look, i) => {
    while (!isOver) {
      const found = await look().catch(() => undefined);
      if (found && found.fingerprint256 !== before[i]!.fingerprint256) strangers.push(found.issuer);
      if (found) looks++;
      await sleep(20);
    }
  });
  const reloaded = await quarterdeckCommand(dir, ['admin', 'reload']);
  assert.match(reloaded.said, /^reload: \S+ was replaced by \S+;/m);
  const soFar = looks;
  await eventually(async () => looks > soFar + 4);
  isOver = true;
  await Promise.all(looking);
  assert.deepEqual(strangers, []);

  // The next server asks how the order stands, and makes no other one.
  authority.manner.processing = 0;
  const renewed = await eventually(
    async () => {
      const found = await doors[0]!();
      return found.fingerprint256 !== before[0]!.fingerprint256 ? found : undefined;
    },
    { withinMs: 60_000 },
  );
  assert.ok(isIssued(renewed) && renewed.checkHost(publicHost) !== undefined);
  assert.deepEqual([authority.orders.length, authority.issued.length], [3, 3]);
  assert.equal((await doors[1]!()).fingerprint256, before[1]!.fingerprint256);

  await database.end();
  process.kill(parent.pid, 'SIGTERM');
  assert.deepEqual(await parent.ended, [0, null], parent.said());
});
