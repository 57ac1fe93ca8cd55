import assert from 'node:assert/strict';
import { test } from 'node:test';
import { run } from '../../src/kernel/db/index.ts';
import { consoleOf, wake } from '../harness/console.ts';
import { quarterdeck } from '../harness/index.ts';

const hostile = '<img src=x onerror=alert(1)> \u202eabc';

test('an incident is opened, acknowledged by key, told to the public and resolved, and another browser sees it', {
  timeout: 120_000,
}, async (t) => {
  const qd = await quarterdeck(t);
  const { page, complaints, open, fits } = await consoleOf(t, qd);
  await open('/', 'Home');
  await page.getByText('First steps').waitFor();
  await fits('home-empty');
  const made = await qd.owner.post('/oncall/services', { name: hostile });
  assert.equal(made.status, 201);

  await open('/oncall/incidents', 'Incidents');
  await page.getByText('No incident is open').waitFor();
  await page.getByText('Live', { exact: true }).waitFor({ state: 'attached' });
  await page.getByRole('button', { name: 'Open an incident' }).click();
  await page.getByLabel('Service').selectOption({ label: hostile });
  await page.getByLabel('Title').fill('checkout is down');
  await page.getByText('It pages no one').waitFor();
  await fits('incident-new');
  await page.getByRole('button', { name: 'Open it and page' }).click();
  await page.getByRole('heading', { level: 1, name: 'checkout is down' }).waitFor();
  await fits('incident-open');
  assert.match((await page.locator('.log').textContent()) ?? '', /onerror=alert\(1\)> abc has no/, 'a name reverses no sentence');

  await page.keyboard.press('a');
  await page.getByText('Acknowledged “checkout is down”').waitFor();
  await page.getByLabel('What customers should know').fill('We are finding out why.');
  await page.reload();
  assert.equal(await page.getByLabel('What customers should know').inputValue(), 'We are finding out why.');
  await page.getByRole('button', { name: 'Publish' }).click();
  await page.getByText('Published: status pages').waitFor();

  // Somebody else opens one while this device has no network: the page says so, and hears of it once the network is back.
  await open('/oncall/incidents', 'Incidents');
  await page.getByText('Live', { exact: true }).waitFor({ state: 'attached' });
  await page.route('**/api/v1/events', (route) => route.abort());
  await page.context().setOffline(true);
  await page.getByText('Cut off', { exact: true }).waitFor({ state: 'attached' });
  await qd.owner.post('/oncall/incidents', { serviceId: made.body.id, title: 'mail is late' });
  await page.unroute('**/api/v1/events');
  await page.context().setOffline(false);
  await page.getByText('Live', { exact: true }).waitFor({ state: 'attached' });
  await page.getByRole('link', { name: 'mail is late' }).waitFor();
  assert.ok(complaints.splice(0).every((text) => text.includes('net::ERR_')));
  // A device that slept has heard nothing for a while: its page asks for a new stream as soon as it is looked at.
  await Promise.all([page.waitForRequest('**/api/v1/events'), page.evaluate(wake)]);
  await page.getByText('Live', { exact: true }).waitFor({ state: 'attached' });
  await fits('incidents');
  // Keys act on the row that was the first, not on the one that came above it meanwhile.
  await page.locator('tr.current', { hasText: 'checkout is down' }).waitFor();
  await page.keyboard.press('k');
  await page.locator('tr.current a:focus', { hasText: 'mail is late' }).waitFor();
  await page.keyboard.press('r');
  await page.getByRole('dialog').getByText('mail is late').waitFor();
  await page.getByRole('dialog').getByRole('button', { name: 'Resolve' }).click();
  await page.getByText('Resolved “mail is late”').waitFor();
  await page.getByRole('link', { name: 'mail is late' }).waitFor({ state: 'detached' });
  // Enter on a button presses that button, whatever row is aimed at.
  await page.getByRole('button', { name: 'Open an incident' }).focus();
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { level: 1, name: 'Open an incident' }).waitFor();

  const other = await qd.owner.post('/oncall/services', { name: 'mail' });
  await qd.app.db.write(
    (tx) => run(tx)`
      insert into oncall.incident (org_id, id, service_id, service_name, title, origin, status, opened_at, walk_state)
      select ${qd.owner.orgId}, 'inc_0' || lpad(n::text, 25, '0'), ${other.body.id}, 'mail', 'old ' || n, 'alert', 'open', kernel.now(), 'none'
        from generate_series(1, 130) n`,
  );
  // More services than one answer holds: the oldest can be chosen too.
  await qd.app.db.write(
    (tx) => run(tx)`
      insert into services.service (org_id, id, name, created_at)
      select ${qd.owner.orgId}, 'svc_z' || lpad(n::text, 25, '0'), 'service ' || n, kernel.now() from generate_series(1, 1000) n`,
  );
  await open('/oncall/incidents', 'Incidents');
  await page.getByLabel('Service').selectOption({ label: 'mail' });
  await page.waitForURL(new RegExp(`\\?service=${other.body.id}`));
  await page.locator('table[aria-rowcount="101"]').waitFor();
  await page.getByRole('button', { name: 'Older ones' }).click();
  await page.locator('table[aria-rowcount="131"]').waitFor();
  // A row of an older page changes: it is asked for again like the others.
  await qd.owner.post(`/oncall/incidents/inc_0${'1'.padStart(25, '0')}/resolve`);
  await page.locator('table[aria-rowcount="130"]').waitFor();
  await page.getByRole('button', { name: 'Resolved' }).click();
  await page.getByRole('rowheader', { name: 'old 1' }).waitFor();
  await page.reload();
  await page.locator('table[aria-rowcount="2"]').waitFor();
  await page.getByLabel('Service').selectOption({ label: 'All services' });
  await page.getByRole('rowheader', { name: 'mail is late' }).waitFor();

  // A device whose clock is wrong by hours shows the ages that the server counts.
  const wrong = await page.context().newPage();
  await wrong.clock.setSystemTime(Date.now() + 5 * 3_600_000);
  await wrong.goto(page.url().split('?')[0]!);
  const opened = wrong.getByRole('row', { name: /checkout is down/ }).locator('time');
  await opened.waitFor();
  await wrong.waitForTimeout(100);
  assert.match((await opened.textContent()) ?? '', /^(now|\d+[sm] ago)$/);
  await wrong.close();

  await open('/', 'Home');
  await page.getByRole('link', { name: 'checkout is down' }).waitFor();
  await fits('home');
});
