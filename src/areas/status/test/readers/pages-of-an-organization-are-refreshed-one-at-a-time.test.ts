import assert from 'node:assert/strict';
import { test } from 'node:test';
import { run } from '../../../../kernel/db/index.ts';
import { currentContext } from '../../../../kernel/fairness/index.ts';
import { publicChanged } from '../../../services/index.ts';
import { eventually, house, incident, page, publish, read, service, shows } from '../support.ts';

test('a change that shows on every page of an organization takes one connection, and each page shows it', async (t) => {
  const { owner, url, app } = await house(t);
  const web = await service(owner, 'Web');
  const slugs = Array.from({ length: 100 }, (_, n) => `acme-${n}`);
  await page(owner, slugs[0]!, [web.id]);
  await app.db.write(
    (tx) => run(tx)`
      insert into status.page (org_id, id, slug, title, service_ids, groups, timezone, created_at, updated_at)
      select org_id, kernel.new_id('stp'), 'acme-' || n, title, service_ids, groups, timezone, created_at, updated_at
        from status.page, generate_series(1, 98) n`,
  );
  await page(owner, slugs[99]!, [web.id]);
  const refused = await owner.post('/status-pages', { slug: 'one-more', title: 'Acme', serviceIds: [web.id] });
  assert.deepEqual(
    [refused.status, refused.body.error],
    [409, 'the organization has 100 status pages, which is the most; delete one first'],
  );
  for (const slug of slugs) assert.equal((await read(`${url}/status/${slug}`)).status, 200);

  let underWay = 0;
  let most = 0;
  let all = 0;
  const { read: plainly } = app.db;
  app.db.read = async (work) => {
    if (currentContext().operation !== 'status page') return plainly(work); // what the server does by itself
    most = Math.max(most, ++underWay);
    all++;
    return plainly(work).finally(() => underWay--);
  };
  t.after(() => (app.db.read = plainly));
  await app.db.write((tx) => publicChanged(tx, owner.orgId));
  await eventually(async () => all >= slugs.length && underWay === 0);
  assert.equal(most, 1);

  await publish(owner, await incident(owner, web.id, 'Login fails'), 'We are looking.');
  for (const slug of slugs) await shows(url, slug, (text) => text.includes('We are looking.'));
});
