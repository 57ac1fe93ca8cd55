import assert from 'node:assert/strict';
import { test } from 'node:test';
import { run } from '../../../../../kernel/db/index.ts';
import { dueDomains } from '../../store/domain-checks.ts';
import { withDns } from './published.ts';

test('domain checks take organizations in turn', async (t) => {
  const { qd } = await withDns(t, { QUARTERDECK_ROLES: 'api' });
  const insert = (org: string, many: number, ago: string) =>
    qd.app.db.write(
      (tx) => run(tx)`
        insert into email.domain (org_id, id, name, send_state, receive_state, created_at, rsa_selector, rsa_public, rsa_private,
                                  ed_selector, ed_public, ed_private, next_check_at, state_at)
        select ${org}, ${org} || n, n || '.' || ${org} || '.example', 'pending', 'none', kernel.now(), 'r', '', '', 'e', '', '',
               kernel.now() - ${ago}::interval, kernel.now()
          from generate_series(1, ${many}) n`,
    );
  await insert('many', 100, '1 hour');
  await insert('few', 3, '1 minute');
  const due = await qd.app.db.read((tx) => dueDomains(tx, { most: 32, perOrg: 4 }));
  assert.deepEqual(
    due.map(({ org_id }) => org_id),
    ['many', 'few', 'many', 'few', 'many', 'few', 'many'],
  );
});
