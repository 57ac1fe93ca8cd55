import assert from 'node:assert/strict';
import { test } from 'node:test';
import { quarterdeck } from '../../../test/harness/index.ts';
import { urlOf } from '../../../test/harness/postgres.ts';
import { adminHere, sqlOn } from './support.ts';

test('dead jobs are shown, revived for the running worker, or dropped', async (t) => {
  const server = await quarterdeck(t, { env: { QUARTERDECK_ROLES: 'api' } });
  const dead = (key: string, org: string | null) =>
    sqlOn<{ id: number }>(
      server.connection,
      `insert into kernel.job (lane, kind, key, payload, org_id, run_at, attempts, last_error, created_at, dead_at)
       values ('mail', 'kernel.send-mail', $1, '{}', $2, kernel.now(), 12, E'the relay said \\x1b[31mno', kernel.now(), kernel.now()) returning id`,
      [key, org],
    );
  const ids = [(await dead('a', server.owner.orgId))[0]!.id, (await dead('b', null))[0]!.id, (await dead('c', null))[0]!.id];
  const env = { QUARTERDECK_DATABASE_URL: urlOf(server.connection), QUARTERDECK_DATA: server.dataDir };
  const admin = async (...args: string[]) => {
    const { code, out, err } = await adminHere(args, env);
    assert.equal(code, 0, err);
    return out.trim();
  };
  const listed = JSON.parse(await admin('jobs', 'list', '--json'));
  assert.deepEqual(
    listed.map((j: { id: number; kind: string; attempts: number }) => [j.id, j.kind, j.attempts]),
    ids.toReversed().map((id) => [id, 'kernel.send-mail', 12]),
  );
  const table = await admin('jobs', 'list', '--limit', '1');
  assert.ok(!table.includes('\x1b'), 'what others wrote does not move the cursor');

  assert.equal(await admin('jobs', 'retry', String(ids[0])), '1 job waits for a worker again');
  assert.equal(await admin('jobs', 'drop', String(ids[1])), `job ${ids[1]} is gone`);
  assert.equal(await admin('jobs', 'retry', '--all'), '1 job waits for a worker again');
  assert.match(await admin('jobs', 'list', '--due'), /kernel\.send-mail +a +due /);
  assert.equal(await admin('jobs', 'list'), 'no job was given up');
  assert.match(await admin('tasks', 'list'), /^NAME +STATE +LAST OK[\s\S]*\nkernel\.tidy-jobs +next /);
  await sqlOn(server.connection, 'delete from kernel.task');
  assert.equal(await admin('tasks', 'list'), 'no worker has run here yet');

  const audited = await sqlOn(server.connection, `select org_id, action, target from kernel.audit where action like 'jobs.%' order by id`);
  assert.deepEqual(audited, [
    { org_id: server.owner.orgId, action: 'jobs.job.retry', target: String(ids[0]) },
    { org_id: '', action: 'jobs.job.drop', target: String(ids[1]) },
    { org_id: '', action: 'jobs.retry', target: 'all' },
  ]);
});
