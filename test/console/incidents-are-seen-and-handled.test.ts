import assert from 'node:assert/strict';
import { test } from 'node:test';
import { consoleOf } from '../harness/console.ts';
import { quarterdeck } from '../harness/index.ts';

const hostile = '<img src=x onerror=alert(1)> \u202eabc';

test('an incident is opened, acknowledged by key, told to the public and resolved, and another browser sees it', {
  timeout: 120_000,
}, async (t) => {
  const qd = await quarterdeck(t);
  const { page, open, fits } = await consoleOf(t, qd);
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

  await page.keyboard.press('a');
  await page.getByText('Acknowledged “checkout is down”').waitFor();
  await page.getByLabel('What customers should know').fill('We are finding out why.');
  await page.reload();
  assert.equal(await page.getByLabel('What customers should know').inputValue(), 'We are finding out why.');
  await page.getByRole('button', { name: 'Publish' }).click();
  await page.getByText('Published: status pages').waitFor();

  // Somebody else opens one: this page hears of it.
  await open('/oncall/incidents', 'Incidents');
  await page.getByText('Live', { exact: true }).waitFor({ state: 'attached' });
  await qd.owner.post('/oncall/incidents', { serviceId: made.body.id, title: 'mail is late' });
  await page.getByRole('link', { name: 'mail is late' }).waitFor();
  await fits('incidents');
  await page.keyboard.press('r');
  await page.getByRole('dialog').getByRole('button', { name: 'Resolve' }).click();
  await page.getByText('Resolved “mail is late”').waitFor();
  await page.getByRole('link', { name: 'mail is late' }).waitFor({ state: 'detached' });
  await open('/', 'Home');
  await page.getByRole('link', { name: 'checkout is down' }).waitFor();
  await fits('home');
});
