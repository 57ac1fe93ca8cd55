import assert from 'node:assert/strict';
import { test } from 'node:test';
import { agent, made, monitor } from '../../src/areas/uptime/test/support.ts';
import { run } from '../../src/kernel/db/index.ts';
import { type ConsolePage, consoleOf, wake } from '../harness/console.ts';
import { type Quarterdeck, quarterdeck } from '../harness/index.ts';

const hostile = `<img src=x onerror=alert(1)> \u202egnp.exe ${'W'.repeat(60)}`;

/** Copies of one monitor with a day of checks: a thousand calls would take longer than all the rest of this test. */
const thousandLike = ({ app }: Quarterdeck, { id }: { id: string }) =>
  app.db.write(async (tx) => {
    await run(tx)`
      insert into uptime.monitor (org_id, id, name, enabled, kind, target, interval_seconds, timeout_ms, vantages, confirmations, quorum, revision, created_at, updated_at)
      select org_id, 'mon_z' || lpad(n::text, 20, '0'), 'copy ' || n, n % 50 <> 0, kind, target, interval_seconds, timeout_ms, vantages, confirmations, quorum,
             nextval('uptime.revision'), created_at, updated_at
        from uptime.monitor, generate_series(1, 1000) n where id = ${id}`;
    await run(tx)`
      insert into uptime.monitor_state (org_id, monitor_id, state, since, began_at)
      select org_id, id, case when name like '%77' then 'down' else 'up' end, kernel.now(), kernel.now() from uptime.monitor where name like 'copy %'`;
    await run(tx)`
      insert into uptime.check_half_hour (monitor_no, half_hour, n, ok, ok_ms, bad_ms)
      select m.no, floor(extract(epoch from kernel.now()) / 1800)::int - h, 30, case when (m.no * 7 + h) % 40 = 0 then 20 else 30 end, 3000, 100
        from uptime.monitor m, generate_series(0, 47) h where m.name like 'copy %'`;
  });

const later = (hours: number) => new Date(Date.now() + hours * 3_600_000).toISOString();

test('a thousand monitors are walked by keys, one is read, tried and edited, its service planned for, and a viewer reads why it may not', {
  timeout: 180_000,
}, async (t) => {
  const qd = await quarterdeck(t, {
    env: {
      QUARTERDECK_ROLES: 'api,worker',
      QUARTERDECK_UPTIME_MONITOR_QUOTA: '2000',
      QUARTERDECK_ALLOW_PRIVATE_CIDRS: 'uptime=127.0.0.0/8',
    },
  });
  const { owner } = qd;
  const [tokyo, paris] = [await agent(qd, 'tokyo'), await agent(qd, 'paris')];
  const browser = await consoleOf(t, qd);
  const { page, open, fits } = browser;
  const label = (text: string) => page.getByLabel(text, { exact: true });
  const press = (name: string) => page.getByRole('button', { name, exact: true }).click();

  await open('/uptime/monitors', 'Monitors');
  await page.getByText('No monitors yet').waitFor();
  await page.getByText('quarterdeck uptime monitors create').waitFor();

  const { id: serviceId } = await made(owner.post('/uptime/services', { name: 'shop' }));
  const front = await monitor(owner, ['tokyo', 'paris'], {
    name: hostile,
    serviceId,
    http: { url: 'https://shop.example/health?token=hush', headers: { Authorization: 'Bearer hush' } },
  });
  for (const one of [tokyo, paris]) {
    await one.pass(front, { ageMs: 1_200_000, latencyMs: 40 });
    await one.report({ monitor: front.id, outcome: 'fail', errorDetail: hostile });
    await one.fail(front);
  }
  await thousandLike(qd, front);

  await list(browser, { rows: 1_001, last: 'copy 1000' });
  await page.getByLabel('Name contains').fill('<img');
  await page.getByRole('button', { name: 'All 1001' }).waitFor();
  await page.waitForURL(/\?q=%3Cimg/);
  // The link to the whole list shows the whole list.
  await page.getByRole('navigation', { name: 'Screens' }).getByRole('link', { name: 'Monitors' }).click();
  await page.locator('table[aria-rowcount="1002"]').waitFor();
  assert.equal(await page.getByLabel('Name contains').inputValue(), '');
  await page.getByLabel('Name contains').fill('<img');
  await page.waitForURL(/\?q=%3Cimg/);
  await page.getByRole('button', { name: 'All 1001' }).focus();
  await page.keyboard.press('j');
  await page.locator('tr.current a:focus').waitFor();
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { level: 1, name: hostile, exact: true }).waitFor();

  await page.getByText('connection refused').first().waitFor();
  await page.locator('svg.lines').waitFor();
  await fits('monitor');
  assert.equal(await page.locator('main img').count(), 0, 'a name is text');
  const slider = page.getByRole('slider');
  const newest = await slider.getAttribute('aria-valuetext');
  assert.match(newest ?? '', /tokyo 21 ms, 100 % failed; paris 21 ms, 100 % failed/);
  await slider.focus();
  for (let n = 0; n < 4; n++) await page.keyboard.press('ArrowLeft');
  assert.match((await slider.getAttribute('aria-valuetext')) ?? '', /tokyo 40 ms; paris 40 ms/);
  await page.getByText('As a table').click();
  await page.getByRole('cell', { name: '40 ms' }).first().waitFor();
  // It scrolls in a box of its own, and its rows are drawn there too.
  const seenFrom = Number(await page.locator('.plot tr[data-key]').first().getAttribute('aria-rowindex'));
  await page.evaluate('(box => box.scrollTo(0, box.scrollHeight / 2))(document.querySelector(".plot .scroll"))');
  await page.locator(`.plot tr[aria-rowindex="${seenFrom}"]`).waitFor({ state: 'detached' });
  for (const window of ['30 days', '1 hour']) {
    await page.getByRole('tab', { name: window }).click();
    await page.getByText(`Passed in ${window}`).waitFor();
    await page.locator('svg.lines').waitFor();
  }
  // Checks pass again: the screen hears of it.
  for (const one of [tokyo, paris]) for (let n = 0; n < 2; n++) await one.pass(front);
  await page.locator('header .state', { hasText: 'up' }).waitFor();
  // A new stream asks for all that is on the screen: six requests at most, on the screen that reads most.
  const asked: string[] = [];
  const note = (request: { url(): string }) => asked.push(new URL(request.url()).pathname);
  page.on('request', note);
  await Promise.all([page.waitForResponse(/\/transitions/), page.waitForResponse(/\/me\/rights/), page.evaluate(wake)]);
  page.off('request', note);
  const again = asked.filter((path) => !path.endsWith('/events'));
  assert.ok(again.length <= 6, again.join(' '));
  await press('Pause');
  await page.locator('header .state', { hasText: 'paused' }).waitFor();
  await press('Resume');
  await page.locator('header .state', { hasText: 'pending' }).waitFor();

  await press('Edit');
  await page.getByRole('heading', { level: 1, name: `Edit ${hostile}`, exact: true }).waitFor();
  assert.equal(await label('Address (needed)').inputValue(), 'https://shop.example/health?token=***');
  await label('Name (needed)').fill('front door');
  await page.getByText('As code').click();
  await page.getByText(`quarterdeck uptime monitors update ${front.id} --name 'front door'`, { exact: true }).waitFor();
  await fits('monitor-edit');
  await label('Name (needed)').press('Enter');
  await page.getByRole('heading', { level: 1, name: 'front door' }).waitFor();
  await page.getByText('https://shop.example/health?token=***').waitFor();

  await tryAndCreate(browser, qd.url);
  await serviceAndMaintenance(browser, serviceId);

  await open('/uptime/vantages', 'Vantages');
  await page.getByText('does not report').first().waitFor();
  await label('Id').fill('osaka');
  await page.getByText('quarterdeck admin agents create --vantage osaka --label Tokyo').waitFor();
  await fits('vantages');

  await open('/uptime/export', 'Metrics export');
  await press('New token');
  await press('Mint the token');
  await page.getByText('The token is shown once').waitFor();
  const token = (await page.getByRole('dialog').locator('pre').first().textContent()) ?? '';
  assert.match(token, /^qd_scrape_\w+/);
  await fits('export-token');
  await page.keyboard.press('Escape');
  await page.getByRole('button', { name: 'Revoke prometheus' }).waitFor();
  assert.ok(!(await page.content()).includes(token), 'it is gone when the dialog closes');
  await fits('export');
  await press('Revoke prometheus');
  await page.getByRole('dialog').getByRole('button', { name: 'Revoke' }).click();
  await page.getByText('No export token yet').waitFor();

  // Without a reload: a stream that begins asks for everything again, and what is gone by then is a complaint of the browser.
  await page.locator('.live.live').waitFor();
  await page.getByRole('navigation', { name: 'Screens' }).getByRole('link', { name: 'Monitors' }).click();
  await page.getByLabel('Name contains').fill('front door');
  await page.getByRole('link', { name: 'front door' }).click();
  await page.getByRole('heading', { level: 1, name: 'front door' }).waitFor();
  await press('Delete');
  await page.getByRole('dialog').getByText('You lose its checks and their history').waitFor();
  await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
  await page.getByRole('heading', { level: 1, name: 'Monitors' }).waitFor();
  await page.getByRole('button', { name: 'All 1001' }).waitFor();
  for (const path of ['', '/failures', '/transitions', '/metrics?window=24h']) browser.forgiveGone(`/uptime/monitors/${front.id}${path}`);

  await asViewer(t, qd, serviceId);
});

async function list({ page, open, fits }: ConsolePage, { rows, last }: { rows: number; last: string }) {
  await open('/uptime/monitors', 'Monitors');
  await page.getByRole('button', { name: `All ${rows}` }).waitFor();
  await page.getByRole('button', { name: 'down 11' }).waitFor();
  assert.ok((await page.locator('tbody tr').count()) < 80, 'the list is windowed');
  assert.match((await page.locator('tbody tr').first().textContent()) ?? '', /down/, 'the worst is first');
  assert.match((await page.locator('.day-bar').first().getAttribute('aria-label')) ?? '', /^Last 24 hours: down in 1/);
  await page.keyboard.press('k');
  await page.locator('tr.current').waitFor();
  await page.locator('tr.current a:focus', { hasText: last }).waitFor();
  await page.keyboard.press('k');
  await page.locator('tr.current a:focus', { hasText: 'copy 950' }).waitFor();
  await page.getByRole('button', { name: 'paused 20' }).click();
  await page.waitForURL(/state=paused/);
  await page.reload();
  await page.getByRole('button', { name: 'paused 20', pressed: true }).waitFor();
  assert.equal(await page.locator('tbody tr').count(), 20);
  await page.getByLabel('Service').selectOption({ label: 'shop' });
  await page.getByText('No monitor matches').waitFor();
  await page.getByRole('button', { name: 'Show all monitors' }).click();
  await page.getByLabel('Name contains').fill('77');
  await page.getByRole('link', { name: 'copy 177' }).waitFor();
  await fits('monitors');
}

async function tryAndCreate({ page, open, fits }: ConsolePage, url: string) {
  await open('/uptime/monitors/new', 'Add a monitor');
  await page.getByRole('button', { name: 'Create the monitor' }).click();
  await page.getByText('A name is needed').first().waitFor();
  await page.getByLabel('Name (needed)', { exact: true }).fill('own health');
  await page.getByLabel('Address (needed)').fill(`${url}/nowhere`);
  await page.getByRole('button', { name: 'Try it now' }).click();
  await page.getByText('It fails: another status').waitFor();
  await page.getByLabel('Address (needed)').fill(`${url}/healthz`);
  await page.getByText('Request and answer').click();
  await page.getByLabel('Headers').fill('Authorization: Bearer hush');
  await page.getByRole('button', { name: 'Try it now' }).click();
  await page.getByText('It passes').waitFor();
  await page.getByText('As code').click();
  await page.getByText('"Authorization":"<secret>"').first().waitFor();
  assert.ok(!((await page.locator('.as-code').textContent()) ?? '').includes('hush'), 'a secret is named, not shown');
  await fits('monitor-new');
  await page.reload();
  assert.equal(await page.getByLabel('Name (needed)', { exact: true }).inputValue(), 'own health');
  assert.equal(await page.getByLabel('Headers').inputValue(), '', 'no draft keeps a secret');
  await page.getByLabel('Service', { exact: true }).selectOption({ label: 'shop' });
  await page.getByLabel('What it checks').selectOption('tcp');
  await page.getByLabel('Host (needed)').fill('127.0.0.1');
  await page.getByLabel('Port (needed)').fill(new URL(url).port);
  await page.getByText('Conversation').click();
  await page.getByLabel('Send').fill('GET / HTTP/1.0\\r\\n\\r\\n');
  await page.getByLabel('The answer must begin with').fill('HTTP/1.1');
  await page.getByRole('button', { name: 'Try it now' }).click();
  await page.getByText('It passes').waitFor();
  await page.getByRole('button', { name: 'Create the monitor' }).click();
  await page.getByRole('heading', { level: 1, name: 'own health' }).waitFor();
  await page.getByText(`127.0.0.1:${new URL(url).port}`).waitFor();
}

async function serviceAndMaintenance({ page, open, fits, complaints }: ConsolePage, serviceId: string) {
  await open('/uptime/services', 'Services');
  await page.getByRole('button', { name: 'New service' }).click();
  await page.getByRole('dialog').getByLabel('Name').fill(hostile);
  await page.getByRole('button', { name: 'Create the service' }).click();
  await page.getByRole('heading', { level: 1, name: hostile, exact: true }).waitFor();
  await page.getByText('No monitor watches it').waitFor();
  await open('/uptime/services', 'Services');
  await page.getByRole('link', { name: 'shop' }).waitFor();
  await fits('services');
  await open(`/services/${serviceId}`, 'shop');
  await page.getByRole('slider').waitFor();
  await page.getByRole('link', { name: 'own health' }).waitFor();
  await fits('service');
  await page.getByRole('button', { name: 'Rename' }).click();
  await page.getByRole('dialog').getByLabel('Name').fill('storefront');
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { level: 1, name: 'storefront' }).waitFor();
  await page.getByRole('button', { name: 'Delete' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
  await page.getByText(/Not done: .*monitors?/).waitFor();
  // The browser notes each refusal; this one was meant.
  assert.match(complaints.splice(0).join(), /^Failed to load resource: the server responded with a status of 409 \(Conflict\) \S+$/);
  await page.getByRole('button', { name: 'Plan maintenance' }).click();
  await page.getByLabel('What is done (needed)').fill('New disks');
  await page.getByLabel('Begins').fill(later(24).slice(0, 16));
  await page.getByLabel('Lasts').selectOption({ label: '2 hours' });
  await fits('plan');
  await page.getByRole('button', { name: 'Plan it' }).click();
  await page.getByRole('heading', { level: 2, name: 'Ahead' }).waitFor();
  await page.getByText('(2h)').waitFor();
  await fits('maintenance');
  await page.getByRole('button', { name: 'Call off New disks' }).click();
  await page.getByRole('dialog').getByText('as if it had never been planned').waitFor();
  await page.getByRole('dialog').getByRole('button', { name: 'Call off' }).click();
  await page.getByText('No maintenance is planned').waitFor();
}

async function asViewer(t: Parameters<typeof consoleOf>[0], qd: Quarterdeck, serviceId: string) {
  const viewer = await qd.member(qd.owner, 'member');
  await made(qd.owner.post('/iam/grants', { subject: viewer.userId, role: 'uptime.viewer' }));
  const { page, open } = await consoleOf(t, qd, viewer.userId);
  const refused = async (name: string, permission: string) => {
    const button = page.getByRole('button', { name, exact: true });
    assert.equal(await button.getAttribute('aria-disabled'), 'true', name);
    assert.match((await button.getAttribute('title')) ?? '', new RegExp(`needs the permission ${permission}`), name);
  };
  await open('/uptime/monitors', 'Monitors');
  await page.getByRole('link', { name: 'own health' }).waitFor();
  await refused('Add a monitor', 'uptime.monitor.write');
  await page.getByRole('link', { name: 'own health' }).click();
  await page.getByRole('heading', { level: 1, name: 'own health' }).waitFor();
  for (const name of ['Edit', 'Pause', 'Delete']) await refused(name, 'uptime.monitor.write');
  await open(`/services/${serviceId}`, 'storefront');
  for (const name of ['Rename', 'Delete', 'Plan maintenance']) await refused(name, 'uptime.service.write');
  await open('/uptime/export', 'Metrics export');
  await refused('New token', 'uptime.export.admin');
}
