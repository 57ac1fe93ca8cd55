import assert from 'node:assert/strict';
import { test } from 'node:test';
import Type from 'typebox';
import { row, run } from '../../../../kernel/db/index.ts';
import { covered, made, mails, once, user, ward } from '../support.ts';

test('a page that an older worker makes without a round belongs to the round of its incident', async (t) => {
  const { owner, app, smtp } = await ward(t);
  const { service } = await covered(owner, { steps: [[user(owner), 86_400]] });
  const { id } = await made(owner.post('/oncall/incidents', { serviceId: service.id, title: 'down' }));
  await mails(smtp, owner.email, 1);
  await once(owner, id, (i) => i.pages[0]?.state === 'sent');
  const inserted = await app.db.write(async (tx) => {
    await run(tx)`update oncall.incident set round = 3 where id = ${id}`;
    // As it is written by a release that knows no rounds: the same step, person and rule as in the first one.
    return row(tx, Type.Object({ round: Type.Integer() }))`
      insert into oncall.page (org_id, id, incident_id, pass, step, user_id, label, channel, rule_index, code, state, due_at)
      select org_id, 'page_x', incident_id, pass, step, user_id, label, channel, rule_index, code, 'canceled', due_at from oncall.page
       where incident_id = ${id}
      on conflict do nothing returning round`;
  });
  assert.equal(inserted?.round, 3);
});
