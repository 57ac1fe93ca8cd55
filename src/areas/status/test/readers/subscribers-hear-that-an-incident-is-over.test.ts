import assert from 'node:assert/strict';
import { test } from 'node:test';
import Type from 'typebox';
import { row, run } from '../../../../kernel/db/index.ts';
import { eventually, form, type House, house, incident, made, page, publish, read, service, shows } from '../support.ts';

const plain = (data: string) => data.replaceAll('=\r\n', '').replaceAll('=3D', '=');
const subjects = ({ smtp }: House, address: string) =>
  smtp.received
    .filter((m) => m.to.includes(address) && /List-Unsubscribe/i.test(m.data))
    .map((m) => /^Subject: (.*)\r$/m.exec(plain(m.data))![1]!);

async function subscribed(qd: House, slug: string, address: string) {
  await form(`${qd.url}/status/${slug}/subscribe`, { address });
  const mail = await eventually(async () => qd.smtp.received.find((m) => m.to.includes(address) && m.data.includes('/confirm/')));
  assert.equal((await form(/http:\S+\/confirm\/[\w-]+/.exec(plain(mail.data))![0])).status, 200);
}

const Jobs = Type.Object({ n: Type.Integer() });
const settled = ({ app }: House) =>
  eventually(
    async () =>
      (await app.db.read((tx) => row(tx, Jobs)`select count(*)::int as n from kernel.job where kind like 'status.%' and dead_at is null`))!
        .n === 0,
  );

test('a public incident that is resolved is told to subscribers once, and the page shows when it ended', async (t) => {
  const qd = await house(t);
  const web = await service(qd.owner, 'Web');
  await page(qd.owner, 'acme', [web.id]);
  await subscribed(qd, 'acme', 'one@example.com');
  const id = await incident(qd.owner, web.id, 'Login fails');
  await publish(qd.owner, id, 'We are looking.');
  await settled(qd);
  await qd.clock.advance('42m');
  await made(qd.owner.post(`/oncall/incidents/${id}/resolve`));
  await settled(qd);
  assert.deepEqual(subjects(qd, 'one@example.com'), ['[Acme] Investigating: Login fails', '[Acme] Resolved: Login fails']);
  assert.match(plain(qd.smtp.received.at(-1)!.data), /This incident is resolved\. It lasted 42 min\./);

  const ended = /<ol class="log"><li><b>Resolved<\/b><time/;
  for (const name of ['', '/history']) assert.match((await shows(qd.url, 'acme', (text) => ended.test(text), name)).text, ended);
  for (const name of ['/feed.atom', '/feed.rss'])
    assert.match((await read(`${qd.url}/status/acme${name}`)).text, /Resolved&#60;\/strong|Resolved&lt;/);

  // What a job does that runs twice.
  await qd.app.db.write(
    (tx) => run(tx)`
      insert into kernel.job (lane, kind, key, org_id, run_at, created_at)
      values ('default', 'status.announce-resolution', ${id}, ${qd.owner.orgId}, kernel.now(), kernel.now())`,
  );
  await settled(qd);
  assert.equal(subjects(qd, 'one@example.com').length, 2);
});

test('an update after the resolution replaces the mail, and an unpublished incident causes none', async (t) => {
  const qd = await house(t);
  const web = await service(qd.owner, 'Web');
  await page(qd.owner, 'acme', [web.id]);
  await subscribed(qd, 'acme', 'one@example.com');
  const hidden = await incident(qd.owner, web.id, 'Nobody knows');
  await made(qd.owner.post(`/oncall/incidents/${hidden}/resolve`));
  const told = await incident(qd.owner, web.id, 'Slow');
  await publish(qd.owner, told, 'We are looking.');
  await settled(qd);
  await qd.app.db.write(async (tx) => {
    // Both at once, before anybody announces either.
    await run(tx)`lock table status.announced in exclusive mode`;
    await made(qd.owner.post(`/oncall/incidents/${told}/resolve`));
    await publish(qd.owner, told, 'All is well.');
  });
  await settled(qd);
  assert.deepEqual(subjects(qd, 'one@example.com'), ['[Acme] Investigating: Slow', '[Acme] Resolved: Slow']);
  assert.match(plain(qd.smtp.received.at(-1)!.data), /All is well\./);
  const { text } = await shows(qd.url, 'acme', (shown) => shown.includes('All is well.'));
  assert.equal(text.match(/<b>Resolved<\/b>/g)!.length, 1, 'said once');
});
