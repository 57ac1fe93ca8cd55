import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { quarterdeck } from '../../../../../test/harness/index.ts';
import { run } from '../../../../kernel/db/index.ts';
import { sql } from '../../../../kernel/sql.ts';
import { covered, made } from '../support.ts';

test('an override that an earlier release let end after the year 9999 is read again, and counts as the newest', async (t) => {
  const { owner, app, member } = await quarterdeck(t);
  const bob = await member(owner, 'member');
  const { id } = await made(
    owner.post('/oncall/schedules', {
      name: 'primary',
      timezone: 'UTC',
      participants: [{ userId: owner.userId, label: 'owner' }],
      handoff: { interval: 'daily', time: '09:00' },
    }),
  );
  const migration = await readFile(new URL('../../migrations/0003_times_that_can_be_read.sql', import.meta.url), 'utf8');
  await app.db.write(async (tx) => {
    await run(tx)`
      insert into oncall.schedule_override (org_id, schedule_id, id, user_id, label, starts_at, ends_at, created_at)
      values (${owner.orgId}, ${id}, kernel.new_id('ovr'), ${bob.userId}, 'bob', kernel.now() - interval '1 hour', '10000-01-01 04:59:59Z', kernel.now()),
             (${owner.orgId}, ${id}, kernel.new_id('ovr'), ${bob.userId}, 'bob', '20000-01-01Z', '20001-01-01Z', kernel.now())`;
    await run(tx)`set local search_path = oncall`;
    for (const statement of migration.split(/;\s*$/m).filter((text) => text.trim())) await tx.query(sql([statement] as never));
  });

  const [schedule] = (await made(owner.get('/oncall/schedules'))).schedules;
  assert.deepEqual(
    schedule.overrides.map((o: { endsAt: string }) => o.endsAt),
    ['9999-12-30T00:00:00.000Z'],
  );
  const { service } = await covered(owner, { steps: [[{ kind: 'schedule', id, label: '' }, 60]] });
  assert.equal((await made(owner.get(`/oncall/services/${service.id}/preview`))).steps[0].responder.userId, bob.userId);
});
