import assert from 'node:assert/strict';
import { test } from 'node:test';
import { covered, user } from '../../src/areas/oncall/test/support.ts';
import { run } from '../../src/kernel/db/index.ts';
import { consoleOf } from '../harness/console.ts';
import { quarterdeck } from '../harness/index.ts';
import { signedIn } from '../harness/visitor.ts';

test('an expired session, a proof in another tab, a lost part and a missing right leave what was typed', {
  timeout: 120_000,
}, async (t) => {
  const qd = await quarterdeck(t);
  const { body: service } = await qd.owner.post('/oncall/services', { name: 'checkout' });
  const { page, complaints, open, fits } = await consoleOf(t, qd);

  // The session ends while somebody types.
  await open('/oncall/incidents/new?from=a%20link', 'Open an incident');
  await page.getByLabel('Service').selectOption(service.id);
  await page.getByLabel('Title').fill('typed before the session ended');
  await qd.app.db.write(async (tx) => {
    await run(tx)`delete from identity.session`;
    await qd.app.caches.drop(tx, '*');
  });
  // The stream of changes was cut with the session, so the page knows before anything is sent.
  await page.getByRole('heading', { name: 'You are signed out' }).waitFor();
  const here = await page.getByRole('link', { name: 'Sign in here' }).getAttribute('href');
  assert.equal(new URLSearchParams(here!.split('?')[1]).get('next'), `/o/${qd.owner.orgSlug}/oncall/incidents/new?from=a%20link`);
  await fits('signed-out');
  // A browser closes a dialog at the second Escape, whatever the page says; this one must stay.
  for (let n = 0; n < 3; n++) await page.keyboard.press('Escape');
  await page.locator('dialog[open]', { hasText: 'You are signed out' }).waitFor();
  const again = await signedIn(qd, qd.owner.userId);
  const { origin } = new URL(page.url());
  await page.context().addCookies([...again.cookies].map(([name, value]) => ({ name, value, url: origin })));
  await page.evaluate('window.dispatchEvent(new Event("focus"))');
  await page.getByRole('heading', { name: 'You are signed out' }).waitFor({ state: 'detached' });
  assert.equal(await page.getByLabel('Title').inputValue(), 'typed before the session ended');
  await page.getByRole('button', { name: 'Open it and page' }).click();
  await page.getByRole('heading', { level: 1, name: 'typed before the session ended' }).waitFor();
  assert.ok(complaints.splice(0).every((text) => text.includes('401')));

  // What is dangerous asks for a proof, in another tab; the request then goes out once more.
  await qd.clock.advance('16m');
  await open('/do/createToken', 'Mint a token');
  await page.getByLabel('Name').fill('for ci');
  await page.getByRole('button', { name: 'Mint a token' }).click();
  await page.getByRole('heading', { name: 'Confirm that it is you' }).waitFor();
  await fits('step-up');
  await qd.app.db.write(async (tx) => {
    await run(tx)`update identity.session set authenticated_at = kernel.now()`;
    await qd.app.caches.drop(tx, '*');
  });
  const tab = await page.context().newPage();
  await tab.goto(`${origin}/o/${qd.owner.orgSlug}/confirmed`);
  await page.getByText('This is shown once').waitFor();
  assert.match((await page.getByRole('region', { name: 'Answer' }).textContent()) ?? '', /qd_pat_/);
  await page.reload();
  assert.doesNotMatch(await page.content(), /qd_pat_/);
  assert.ok(complaints.splice(0).every((text) => text.includes('403')));

  // A part of an older release is gone: the page loads itself anew, once, and the draft is still there.
  await open('/oncall/incidents/new', 'Open an incident');
  await page.getByLabel('Title').fill('typed before the release');
  await page.getByRole('link', { name: 'Home', exact: true }).click();
  // The part that is lost is the next one, not Home's.
  await page.getByRole('heading', { level: 1, name: 'Home' }).waitFor();
  let lost = 1;
  await page.route('**/assets/part-*.js', (route) => (lost-- > 0 ? route.fulfill({ status: 404, body: '' }) : route.continue()));
  await page.getByRole('link', { name: 'Alert sources' }).click();
  await page.getByRole('heading', { level: 1, name: 'Alert sources' }).waitFor();
  await open('/oncall/incidents/new', 'Open an incident');
  assert.equal(await page.getByLabel('Title').inputValue(), 'typed before the release');
  complaints.splice(0);

  // Another person at the same tab finds none of it.
  const stranger = await signedIn(qd, (await qd.member(qd.owner, 'owner')).userId);
  await page.context().addCookies([...stranger.cookies].map(([name, value]) => ({ name, value, url: origin })));
  await page.reload();
  // The page may load itself anew in between.
  const hasDrafts = () => page.evaluate('Object.keys(sessionStorage).some((key) => key.startsWith("draft "))').catch(() => true);
  while (await hasDrafts());
  const openForm = () => open('/oncall/incidents/new', 'Open an incident');
  await openForm().catch(openForm); // by which it would be interrupted
  assert.equal(await page.getByLabel('Title').inputValue(), '');
  complaints.splice(0);
});

test('a viewer sees what there is, and reads why the rest is not allowed', { timeout: 90_000 }, async (t) => {
  const qd = await quarterdeck(t);
  const viewer = await qd.member(qd.owner, 'member');
  const { body: whole } = await qd.owner.post('/iam/grants', { subject: viewer.userId, role: 'oncall.viewer' });
  const { service, policy } = await covered(qd.owner, { steps: [[user(qd.owner), 60]] });
  const { page, open, fits } = await consoleOf(t, qd, viewer.userId);
  await open('/oncall/incidents', 'Incidents');
  const button = page.getByRole('button', { name: 'Open an incident' });
  await page.getByText('This needs the permission oncall.incident.write').waitFor({ state: 'attached' });
  assert.equal(await button.getAttribute('aria-disabled'), 'true');
  await button.click({ force: true });
  assert.ok(page.url().endsWith('/oncall/incidents'));
  assert.equal(await page.getByRole('link', { name: 'Monitors', exact: true }).count(), 0);
  await page.keyboard.press('Control+k');
  await page.getByRole('combobox', { name: 'Search or do' }).fill('create a monitor');
  await page.getByText('This needs the permission uptime.monitor.write').first().waitFor();
  await fits('viewer-menu');
  // A form asks for no list of names that the person may not read: each refusal would be noted by the browser.
  await open('/do/getDomain', /./);
  await page.getByText('This needs the permission email.domain.read').first().waitFor();
  await page.getByLabel('Id (needed)').waitFor();
  await page.getByRole('link', { name: 'Incidents', exact: true }).click();
  await page.getByText('No incident is open').waitFor();

  // The role is narrowed to one service while the page is open: what belongs to no service is offered no more.
  await page.getByRole('link', { name: 'Schedules', exact: true }).waitFor();
  await qd.owner.post('/iam/grants', { subject: viewer.userId, role: 'oncall.editor', resourceIds: [service.id] });
  await page.locator('button:not([aria-disabled])', { hasText: 'Open an incident' }).waitFor();
  await qd.owner.delete(`/iam/grants/${whole.id}`);
  await page.getByRole('link', { name: 'Schedules', exact: true }).waitFor({ state: 'detached' });
  await page.getByRole('link', { name: 'Who is paged', exact: true }).click();
  // A policy that this person cannot read is not shown as none.
  assert.equal(await page.getByLabel(`Policy of ${service.name}`).inputValue(), policy.id);
  // A service's page tells of its availability, which takes a role of uptime; it leads on without one.
  await page.getByRole('link', { name: service.name, exact: true }).click();
  await page.getByText('This needs the permission uptime.service.read').waitFor();
  await page.getByRole('link', { name: 'Who is paged for it' }).waitFor();
});
