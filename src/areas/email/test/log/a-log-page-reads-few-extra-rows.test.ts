import assert from 'node:assert/strict';
import { test } from 'node:test';
import { quarterdeck } from '../../../../../test/harness/index.ts';
import { run } from '../../../../kernel/db/index.ts';
import { Sql, type Visible } from '../../../../kernel/sql.ts';
import { listMessageRows, type MessageFilters } from '../../outbound/store/messages.ts';
import { countLookedAt } from './rows-read.ts';

/** 20,000 messages: most are delivered and of one domain; one in a thousand is of another domain, bounced, or received. */
const many = 20_000;
const limit = 51;

test('a page of the log reads few rows beyond those it shows, with any filter', async (t) => {
  const { app, owner } = await quarterdeck(t, { env: { QUARTERDECK_ROLES: 'api' } });
  const org = owner.orgId;
  await app.db.write(async (tx) => {
    await run(tx)`
      insert into email.message (org_id, id, direction, state, state_at, created_at, door, domain_id, sender, recipients, copies, subject, message_id,
                                 body_offset, body_bytes, header_bytes, body_hash)
      select ${org}, 'msg_01' || lpad(n::text, 24, '0'), case when n % 1000 = 2 then 'receive' else 'send' end, case when n % 1000 = 1 then 'bounced' else 'delivered' end,
             c.now, c.now, 'smtp', case when n % 1000 in (1, 2, 3) then 'dom_rare' else 'dom_usual' end, 'a@example.com', '{}', '{}', 's', '<m>', 0, 1, 1, ''
        from generate_series(1, ${many}) n, (select kernel.now() as now offset 0) c`;
    await run(tx)`
      insert into email.recipient (org_id, message_id, address, folded, state, state_at, run_at, done_at)
      select org_id, id, 'often@far.example', 'often@far.example', 'delivered', created_at, created_at, created_at from email.message`;
  });
  await app.db.read((tx) => tx.query(new Sql(['analyze email.message, email.recipient'], [])));
  const lists: [string, MessageFilters, Visible, number][] = [
    ['nothing', {}, '*', limit],
    ['a usual state', { state: 'delivered' }, '*', limit],
    ['a rare state', { state: 'bounced' }, '*', 20],
    ['a rare direction', { direction: 'receive' }, '*', 20],
    ['a usual direction', { direction: 'send' }, '*', limit],
    ['a state and a direction that meet nowhere', { state: 'bounced', direction: 'receive' }, '*', 0],
    ['a rare domain', { domainId: 'dom_rare' }, '*', limit],
    ['a domain and a state', { domainId: 'dom_rare', state: 'delivered', direction: 'send' }, '*', 20],
    ['a domain and a state that meet nowhere', { domainId: 'dom_usual', state: 'bounced' }, '*', 0],
    ['what the caller may see', {}, new Set(['dom_rare', 'dom_other']), limit],
    ['what the caller may see, by state', { state: 'bounced' }, new Set(['dom_rare', 'dom_other']), 20],
    ['an address', { to: 'often@far.example' }, '*', limit],
  ];
  for (const [name, filters, visible, shown] of lists)
    await app.db.read(async (tx) => {
      const list = (on: typeof tx) => listMessageRows(on, org, visible, filters, { before: null, limit });
      assert.equal((await list(tx)).length, shown, name);
      const looked = await countLookedAt(tx, list);
      // The newest rows of each state and direction, plus the rows of the page.
      assert.ok(looked <= 5 * limit, `${name}: ${looked} rows were looked at`);
    });
  // The second page continues the first, and is the same for every way to find it.
  await app.db.read(async (tx) => {
    const first = await listMessageRows(tx, org, '*', {}, { before: null, limit: 30 });
    const before = first.at(-1)!.id;
    const ids = async (filters: MessageFilters) =>
      (await listMessageRows(tx, org, '*', filters, { before, limit: 30 })).map(({ id }) => id);
    const next = await ids({});
    assert.equal(next.length, 30);
    assert.ok(next.every((id) => id < before));
    assert.deepEqual(await ids({ to: 'often@far.example' }), next);
    assert.deepEqual(await ids({ since: '2000-01-01T00:00:00.000Z' }), next);
  });
});
