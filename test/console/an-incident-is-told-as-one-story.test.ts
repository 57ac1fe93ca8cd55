import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { beforeTheIncident } from '../../src/areas/oncall/test/incidents/story-scene.ts';
import { made, ward } from '../../src/areas/oncall/test/support.ts';
import { consoleOf } from '../harness/console.ts';

const hostile = '<img src=x onerror=alert(1)> [a](b) \u202eabc';

test('an incident is told from the failing probe to the mail, handled from its story, printed and written up', {
  timeout: 120_000,
}, async (t) => {
  const qd = await ward(t);
  const scene = await beforeTheIncident(qd, { name: hostile });
  const id = await scene.break();
  const { page, open, fits } = await consoleOf(t, qd);

  await open('/oncall/incidents', 'Incidents');
  await page.locator('main').getByRole('link', { name: 'abc' }).click();
  await page.getByRole('link', { name: 'Story', exact: true }).click();
  await page.getByRole('heading', { level: 1, name: /^Story: / }).waitFor();
  const axes = page.locator('.story');
  const [before, happened] = [axes.nth(0), axes.nth(1)];
  for (const text of ['maintenance: new cables', `shop/${scene.pushed.repo}:${scene.pushed.tag} was pushed`, 'uptime.monitor.update'])
    await before.getByText(text).first().waitFor();
  for (const text of ['berlin sees', 'the connection was refused', 'An SMS to Ada failed', 'to Bo went out'])
    await happened.getByText(text).first().waitFor();
  await fits('story');

  await page.keyboard.press('a');
  await page.getByText(/^Acknowledged “/).waitFor();
  await happened
    .locator('li', { hasText: /acknowledged/i })
    .first()
    .waitFor();
  await page.getByRole('button', { name: 'Tell the public' }).click();
  await page.getByLabel('What customers should know').fill('We are finding out why.');
  await page.getByRole('button', { name: 'Publish' }).click();
  await page.getByText('Published: status pages').waitFor();
  await happened.getByText('We are finding out why.').waitFor();
  await page.getByRole('button', { name: 'Put somebody on call' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Who').selectOption(scene.bo.userId);
  await dialog.getByRole('button', { name: 'Put on call' }).click();
  await dialog.waitFor({ state: 'detached' });

  await scene.mailed(2);
  await scene.mend(id);
  await page.getByText('resolved', { exact: true }).waitFor();
  await page.reload();
  await happened.getByText('1 mail to subscribers left about the update').waitFor();
  await happened.getByText('1 mail to subscribers left about the end').waitFor();
  await page.getByRole('button', { name: 'Status pages', exact: true }).click();
  assert.match(page.url(), /area=status/);
  await page.getByText('Nothing of Status pages.').waitFor();
  assert.equal(await axes.locator('li').count(), 2);
  await page.getByRole('button', { name: 'All', exact: true }).click();

  await page.emulateMedia({ media: 'print', colorScheme: 'dark' });
  assert.ok(await happened.isVisible());
  assert.ok(!(await page.locator('header.top').isVisible()) && !(await page.getByRole('button', { name: 'Print' }).isVisible()));
  await page.emulateMedia({ media: 'screen', colorScheme: 'light' });

  await page.getByRole('button', { name: 'Post-mortem' }).click();
  await dialog.getByText('# Post-mortem').waitFor();
  await fits('post-mortem');
  const [file] = await Promise.all([page.waitForEvent('download'), dialog.getByRole('button', { name: 'Download' }).click()]);
  assert.equal(file.suggestedFilename(), `post-mortem-${id}.md`);
  const text = await readFile(await file.path(), 'utf8');
  assert.match(text, /^# Post-mortem: .*\\<img src=x onerror=alert\(1\)\\> \\\[a\\\]\(b\) abc/);
  for (const words of ['## What changed in the hour before', 'new cables', 'berlin sees', 'We are finding out why.', 'Resolved: 2026'])
    assert.ok(text.includes(words), `${words} is not in ${text}`);
  assert.doesNotMatch(text, /\u202e/);
  await page.keyboard.press('Escape');

  // A person who may read incidents alone is told what is missing, and by which permission.
  const viewer = await qd.member(qd.owner, 'member', 'viewer@example.com');
  await made(qd.owner.post('/iam/grants', { subject: viewer.userId, role: 'oncall.viewer' }));
  const second = await consoleOf(t, qd, viewer.userId);
  await second.open(`/oncall/incidents/${id}/story`, /^Story: /);
  await second.page.getByText('registry.image.read').waitFor();
  await second.page.getByText('Nothing that you may read changed.').waitFor();
  assert.equal(await second.page.getByText('new cables').count(), 0);
  await second.fits('story-viewer');
});
