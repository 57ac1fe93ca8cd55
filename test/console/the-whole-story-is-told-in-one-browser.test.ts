import assert from 'node:assert/strict';
import { test } from 'node:test';
import { makeLink } from '../../src/areas/account/index.ts';
import { browser } from '../harness/browser.ts';
import { pictures, watchPage } from '../harness/console.ts';
import { quarterdeck } from '../harness/index.ts';

test('from the link of the first start to an incident that was paged, acknowledged, published and resolved', {
  timeout: 170_000,
}, async (t) => {
  const qd = await quarterdeck(t, { isTry: true });
  const url = qd.url.replace('127.0.0.1', 'localhost');
  const context = await (await browser(t)).newContext({
    locale: 'en-GB',
    timezoneId: 'Europe/Paris',
    viewport: { width: 1280, height: 800 },
  });
  const page = await context.newPage();
  page.setDefaultTimeout(30_000);
  const complaints = watchPage(page, url);
  const picture = async (name: string) => pictures && page.screenshot({ path: `${pictures}/story-${name}.png` });
  const heading = (name: string | RegExp) => page.getByRole('heading', { level: 1, name });

  const { secret } = await qd.app.db.write((tx) => makeLink(tx, qd.owner.userId, 'claim'));
  await page.goto(`${url}/sign-in/link/${secret}`);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('link', { name: 'Console' }).click();
  await heading('Home').waitFor();
  await page.getByText('First steps').waitFor();
  await picture('1-home');

  // A service, and who is paged for it.
  await page.getByRole('link', { name: 'Who is paged', exact: true }).click();
  await page.getByRole('button', { name: 'New service' }).click();
  await page.getByRole('dialog').getByLabel('Name').fill('checkout');
  await page.getByRole('button', { name: 'Create the service' }).click();
  await page.getByText('Created checkout').waitFor();
  await page.getByRole('link', { name: 'Schedules', exact: true }).click();
  await page.getByRole('button', { name: 'New schedule' }).click();
  await page.getByLabel('Name').fill('primary');
  await page.getByLabel('Add a person').selectOption({ index: 1 });
  await page.getByRole('button', { name: 'Create the schedule' }).click();
  await heading('primary').waitFor();
  await page.getByRole('link', { name: 'Escalation policies', exact: true }).click();
  await page.getByRole('button', { name: 'New policy' }).click();
  await page.getByLabel('Name').fill('night');
  await page.getByLabel('Add a step').selectOption({ label: 'Schedule primary' });
  await page.getByRole('button', { name: 'Create the policy' }).click();
  await heading('night').waitFor();
  await page.getByRole('link', { name: 'Who is paged', exact: true }).click();
  await page.getByLabel('Policy of checkout').selectOption({ label: 'night' });
  await page.getByText('Changed who is paged for checkout').waitFor();
  await page.getByText(/pages owner/).waitFor();
  await picture('2-paged');

  // A monitor, by the menu that has everything; what it watches does not answer.
  await page.keyboard.press('Control+k');
  await page.getByRole('combobox', { name: 'Search or do' }).fill('create a monitor');
  await page.getByRole('option', { name: /Create a monitor/ }).click();
  await page.getByLabel('Name').fill('front');
  await page.getByLabel('Interval seconds').fill('30');
  await page.getByLabel('Vantages').fill('local');
  await page.getByLabel('Kind').selectOption('http');
  await page.getByText(/^More \(/).click();
  await page.getByLabel('Service').selectOption({ index: 1 });
  await page.getByText('Down condition', { exact: true }).click();
  await page.getByLabel('Confirmations').fill('1');
  await page.getByLabel('Quorum').fill('1');
  await page.getByText('Http', { exact: true }).click();
  await page.getByLabel('Url').fill('http://shop.example/');
  await page.getByRole('button', { name: 'Create a monitor' }).click();
  await page.getByText('mon_').first().waitFor();
  await picture('3-monitor');

  // It fails, the incident opens, and the page arrives: this browser sees it without a reload.
  await page.getByRole('link', { name: 'Incidents', exact: true }).click();
  const failed = page.getByRole('link', { name: 'front is down' });
  await failed.click();
  await heading('front is down').waitFor();
  await page.getByRole('table', { name: 'Pages' }).getByText('sent').waitFor();
  await picture('4-incident');

  await page.getByRole('button', { name: 'Acknowledge' }).click();
  await page.getByText('Acknowledged “front is down”').waitFor();
  await page.getByLabel('What customers should know').fill('We are finding out why.');
  await page.getByRole('button', { name: 'Publish' }).click();
  await page.getByText('Published: status pages of the service show it').waitFor();
  await page.getByRole('button', { name: 'Resolve' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Resolve' }).click();
  await page.getByText('Resolved “front is down”').waitFor();
  await page.getByText('resolved', { exact: false }).first().waitFor();
  await picture('5-resolved');

  await page.goto(`${url}/try/inbox`);
  await page
    .getByText(/front is down/)
    .first()
    .waitFor();
  assert.deepEqual(complaints, []);
});
