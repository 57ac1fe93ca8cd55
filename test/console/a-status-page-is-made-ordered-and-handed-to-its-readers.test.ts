import assert from 'node:assert/strict';
import { test } from 'node:test';
import { agent, made, monitor } from '../../src/areas/uptime/test/support.ts';
import { run } from '../../src/kernel/db/index.ts';
import { consoleOf } from '../harness/console.ts';
import { type Quarterdeck, quarterdeck } from '../harness/index.ts';

const hostile = `<img src=x onerror=alert(1)> \u202egnp.exe ${'W'.repeat(60)}`;
const logo = Buffer.from('R0lGODlhAQABAIAAAP///wAAACH5BAAAAAAALAAAAAABAAEAAAICRAEAOw==', 'base64');

/** A reader who has not confirmed yet, and mails that a limit held back: both come from a form that takes mail, which this server has not. */
const reader = ({ app, owner }: Quarterdeck) =>
  app.db.write(async (tx) => {
    await run(tx)`
      insert into status.subscriber (org_id, id, page_id, address, state, token, token_hash, asked_at, created_at)
      select ${owner.orgId}, kernel.new_id('sub'), id, 'reader@example.com', 'pending', 'x', 'x', kernel.now(), kernel.now() from status.page`;
    await run(
      tx,
    )`insert into status.held_back (org_id, page_id, reason, mails, last_at) select ${owner.orgId}, id, 'client', 3, kernel.now() from status.page`;
  });

test('a status page is made with the page beside the form, its services ordered by keys, its readers listed, and a viewer reads why it may not', {
  timeout: 150_000,
}, async (t) => {
  const qd = await quarterdeck(t, { env: { QUARTERDECK_ROLES: 'api,worker' } });
  const { owner } = qd;
  const tokyo = await agent(qd, 'tokyo');
  const services: Record<string, string> = {};
  for (const name of ['shop', 'checkout', hostile]) services[name] = (await made(owner.post('/uptime/services', { name }))).id;
  const front = await monitor(owner, ['tokyo'], { serviceId: services['checkout'] });
  for (let n = 0; n < 2; n++) await tokyo.fail(front);

  const { page, open, fits, forgiveGone } = await consoleOf(t, qd);
  const press = (name: string) => page.getByRole('button', { name, exact: true }).click();
  const preview = page.getByRole('region', { name: 'Preview' });
  const shown = async () => (await preview.locator('li bdi, .preview-group').allTextContents()).join(' | ');

  await open('/status', 'Status pages');
  await page.getByText('No status page yet').waitFor();
  await page.getByText('quarterdeck status pages create').waitFor();
  await press('New page');
  await page.getByRole('heading', { level: 1, name: 'New status page' }).waitFor();
  const title = page.getByLabel('Title (needed)');
  await title.fill('Acme Shop');
  assert.equal(await page.getByLabel('Address (needed)').inputValue(), 'acme-shop');
  for (const label of [hostile, 'shop', 'checkout']) await page.getByLabel('Add a service').selectOption({ label });
  assert.equal(await shown(), `${hostile} | shop | checkout`);
  await preview.getByText('A service is down').waitFor();

  await press('Add a group');
  await page.getByLabel('Group 1', { exact: true }).fill('Payments');
  await press('Create the page');
  await page.getByText('The group Payments holds no service').first().waitFor();
  // By keys alone: the button that was pressed keeps the focus where its service went.
  await page.getByRole('button', { name: 'Move checkout down' }).focus();
  await page.keyboard.press('Enter');
  await page.getByText('checkout is now 1 of 1, in Payments').waitFor({ state: 'attached' });
  assert.equal(await shown(), `${hostile} | shop | Payments | checkout`);
  await page.getByRole('button', { name: `Move ${hostile} down` }).focus();
  await page.keyboard.press('Alt+ArrowDown');
  await page.getByText('is now 2 of 2, outside the groups').waitFor({ state: 'attached' });
  await page.keyboard.press('Enter');
  await page.getByText('is now 1 of 2, in Payments').waitFor({ state: 'attached' });
  assert.equal(await shown(), `shop | Payments | ${hostile} | checkout`);

  await page.getByRole('textbox', { name: 'Colour', exact: true }).fill('#ffcc00');
  await page.getByText('Too little for text, so on light pages text is #').waitFor();
  await page.getByLabel('Logo').setInputFiles({ name: 'big.png', mimeType: 'image/png', buffer: Buffer.alloc(60_000) });
  await page.getByText('a logo has at most 49 kB').waitFor();
  await page.getByLabel('Logo').setInputFiles({ name: 'logo.gif', mimeType: 'image/gif', buffer: logo });
  await preview.locator('img[src^="data:image/gif"]').waitFor();
  await page.getByText('As code').click();
  await page.getByText('--slug acme-shop').waitFor();
  await fits('status-new');
  await page.reload();
  assert.equal(await title.inputValue(), 'Acme Shop', 'a reload loses no word');
  await press('Create the page');
  await page.getByRole('heading', { level: 1, name: 'Acme Shop' }).waitFor();

  const saved = await made(owner.get('/status-pages/acme-shop'));
  assert.deepEqual(saved.serviceIds, [services['shop'], services[hostile], services['checkout']]);
  assert.deepEqual(saved.groups, [{ name: 'Payments', serviceIds: [services[hostile], services['checkout']] }]);
  assert.deepEqual([saved.accentColour, saved.timezone, typeof saved.logoUrl], ['#ffcc00', 'Europe/Paris', 'string']);

  await press('Remove group Payments; its services stay');
  await title.fill(hostile);
  await press('Default');
  await press('Remove the logo');
  await page.getByLabel('Under the title').fill('How we are');
  await press('Save');
  await page.getByRole('heading', { level: 1, name: hostile, exact: true }).waitFor();
  const changed = await made(owner.get('/status-pages/acme-shop'));
  assert.deepEqual([changed.title, changed.groups, changed.description], [hostile, [], 'How we are']);
  assert.deepEqual(['accentColour' in changed, 'logoUrl' in changed, changed.serviceIds], [false, false, saved.serviceIds]);
  assert.equal(await page.locator('main img').count(), 0, 'a title is text');

  await reader(qd);
  await open('/status/acme-shop?part=subscribers', hostile);
  await page.getByText('3 first mails to readers held back').waitFor();
  await page.getByText('reader@example.com').waitFor();
  await fits('status-subscribers');
  await press('Remove reader@example.com');
  await page.getByRole('dialog').getByText('only its owner can subscribe again').waitFor();
  await page.getByRole('dialog').getByRole('button', { name: 'Remove' }).click();
  await page.getByText('No subscriber yet').waitFor();
  await page.getByRole('tab', { name: 'Page' }).click();
  await title.waitFor();
  await fits('status-page');
  await open('/status', 'Status pages');
  await page.getByRole('link', { name: hostile }).waitFor();
  await fits('status');

  const viewer = await qd.member(owner, 'member');
  await made(owner.post('/iam/grants', { subject: viewer.userId, role: 'oncall.viewer' }));
  const other = await consoleOf(t, qd, viewer.userId);
  await other.open('/status/acme-shop', hostile);
  for (const name of ['Save', 'Delete']) {
    const button = other.page.getByRole('button', { name, exact: true });
    assert.match((await button.getAttribute('title')) ?? '', /needs the permission oncall\.page\.write/, name);
    assert.equal(await button.getAttribute('aria-disabled'), 'true', name);
  }

  await other.page.close();

  // Without a reload: a stream that begins asks for everything again, and what is gone by then is a complaint of the browser.
  await page.locator('.live.live').waitFor();
  await page.getByRole('link', { name: hostile }).click();
  await page.getByRole('heading', { level: 1, name: hostile, exact: true }).waitFor();
  await press('Delete');
  const dialog = page.getByRole('dialog');
  await dialog.getByText('It cannot come back').waitFor();
  assert.equal(await dialog.getByRole('button', { name: 'Delete' }).getAttribute('aria-disabled'), 'true');
  await dialog.getByLabel('Type acme-shop to confirm').fill('acme-shop');
  await dialog.getByRole('button', { name: 'Delete' }).click();
  await page.getByText('No status page yet').waitFor();
  forgiveGone('/status-pages/acme-shop');
});
