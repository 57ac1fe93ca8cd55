import assert from 'node:assert/strict';
import { test } from 'node:test';
import { consoleOf } from '../harness/console.ts';
import { quarterdeck } from '../harness/index.ts';

test('a schedule, a policy and a service are made by hand, and the timeline shows shifts, gaps and an override', {
  timeout: 150_000,
}, async (t) => {
  const qd = await quarterdeck(t);
  await qd.member(qd.owner, 'member', 'ada@example.com');
  await qd.owner.post('/oncall/schedules', {
    name: 'empty one',
    timezone: 'UTC',
    participants: [],
    handoff: { interval: 'daily', time: '09:00' },
  });
  const { page, open, fits } = await consoleOf(t, qd);

  await open('/oncall/schedules/new', 'New schedule');
  await page.getByLabel('Name').fill('primary');
  await page.getByLabel('Time zone').fill('Europe/Paris');
  await page.getByLabel('Add a person').selectOption({ index: 2 });
  await page.getByLabel('Add a person').selectOption({ index: 1 });
  await fits('schedule-new');
  await page.getByRole('button', { name: 'Create the schedule' }).click();
  await page.getByRole('heading', { level: 1, name: 'primary' }).waitFor();
  await fits('schedule');

  // The address may be anybody's: this date is beyond all calendars.
  await open('/oncall/schedules?later=1e300', 'Schedules');
  await page.locator('.bar.gap').first().waitFor();
  await page.locator('.bar.mine').first().waitFor();
  await fits('schedules');
  // Half a day is marked on the row of the schedule that has nobody.
  await page.setViewportSize({ width: 1280, height: 800 });
  const track = (await page.locator('.lane', { hasText: 'empty one' }).locator('.track').boundingBox())!;
  await page.mouse.move(track.x + track.width * 0.5, track.y + 10);
  await page.mouse.down();
  await page.mouse.move(track.x + track.width * 0.6, track.y + 10, { steps: 4 });
  await page.mouse.up();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Who').selectOption({ index: 1 });
  await fits('override');
  await dialog.getByRole('button', { name: 'Put on call' }).click();
  await page.locator('.bar.override').waitFor();

  await open('/oncall/policies/new', 'New policy');
  await page.getByLabel('Name').fill('night');
  await page.getByLabel('Add a step').selectOption({ label: 'Schedule primary' });
  await fits('policy-new');
  await page.getByRole('button', { name: 'Create the policy' }).click();
  await page.getByRole('heading', { level: 1, name: 'night' }).waitFor();

  await open('/oncall/services', 'Who is paged');
  await page.getByRole('button', { name: 'New service' }).click();
  await page.getByRole('dialog').getByLabel('Name').fill('checkout');
  await page.getByRole('button', { name: 'Create the service' }).click();
  await page.getByLabel('Policy of checkout').selectOption({ label: 'night' });
  await page.getByText('Changed who is paged for checkout').waitFor();
  await fits('oncall-services');
  await page.getByRole('button', { name: 'Who, when?' }).click();
  await page.getByRole('dialog').getByText('email').first().waitFor();
  await fits('preview');
  await page.keyboard.press('Escape');

  await open('/oncall/sources', 'Alert sources');
  await page.getByRole('button', { name: 'New source' }).click();
  await page.getByRole('button', { name: 'Create the source' }).click();
  await page.getByText('The token is shown once').waitFor();
  const snippet = await page.getByRole('dialog').locator('pre').first().textContent();
  assert.match(snippet ?? '', /credentials: qd_src_\w{38}/);
  await fits('snippets');
  await page.keyboard.press('Escape');
  assert.doesNotMatch(await page.content(), /qd_src_/);

  await open('/oncall/me', 'How I am paged');
  await fits('me');
  await open('/oncall/provider', 'SMS and calls');
  await fits('provider');
});
