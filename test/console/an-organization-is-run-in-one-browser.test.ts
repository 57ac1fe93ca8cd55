import assert from 'node:assert/strict';
import { test } from 'node:test';
import { consoleOf } from '../harness/console.ts';
import { quarterdeck } from '../harness/index.ts';

const hostile = '<b onmouseover=alert(1)>\u202ecod.exe';

test('roles are edited in a grid, given, looked up and taken away; a token says what it will do; the audit log is filtered', {
  timeout: 120_000,
}, async (t) => {
  const qd = await quarterdeck(t);
  const ada = await qd.member(qd.owner, 'member', 'ada@example.com');
  const service = await qd.owner.post('/oncall/services', { name: hostile });
  const { page, open, fits } = await consoleOf(t, qd);
  const dialog = page.getByRole('dialog');

  // A role of one's own.
  await open('/organization/roles', 'Roles');
  await page.getByRole('button', { name: 'Create a custom role' }).click();
  await page.getByRole('heading', { level: 1, name: 'New role' }).waitFor();
  await page.getByRole('textbox', { name: 'Name (needed)' }).fill(hostile);
  await page.getByRole('checkbox', { name: 'Open, acknowledge and resolve incidents' }).check();
  const see = page.getByRole('checkbox', { name: /^See incidents\. It comes with/ });
  assert.ok(await see.isChecked(), 'a tier brings the lower ones');
  await see.press(' ');
  assert.ok(await see.isChecked(), 'and they stay with it');
  const reserved = page.getByRole('checkbox', { name: /Grant roles and take them away.*No custom role may hold it/ });
  await reserved.press(' ');
  assert.ok(!(await reserved.isChecked()));
  await page.evaluate('scrollTo(0, 0)');
  await fits('role');
  await page.getByRole('button', { name: 'Create the role' }).click();
  await page.getByRole('heading', { level: 1, name: hostile }).waitFor();
  await page.getByRole('checkbox', { name: 'See services', exact: true }).first().check();
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByText('Saved: it holds at once').waitFor();
  await open('/organization/roles/oncall.viewer', 'On-call viewer');
  await page.getByText('built in', { exact: true }).waitFor();
  assert.equal(await page.getByRole('checkbox').count(), 0);

  // Given to a person, on one thing.
  await open('/organization/grants', 'Grants');
  await page.getByText('No grants').waitFor();
  await page.getByRole('button', { name: 'Grant a role' }).click();
  await dialog.getByLabel('Who').selectOption(ada.userId);
  await dialog.getByLabel('Role').selectOption({ label: hostile });
  await dialog.getByText('On everything').click();
  await dialog.getByLabel(hostile).check();
  await fits('grant');
  await dialog.getByRole('button', { name: 'Grant', exact: true }).click();
  await page
    .getByRole('row', { name: /ada@example\.com/ })
    .getByRole('link')
    .click();

  // What may this person do?
  await page.getByRole('heading', { name: 'What they may do' }).waitFor();
  await page.getByRole('table', { name: 'On-call' }).getByText('on 1, by').first().waitFor();
  await fits('member');
  await page.getByRole('button', { name: 'Take away' }).click();
  await dialog.getByText('You lose').waitFor();
  await dialog.getByRole('button', { name: 'Take away' }).click();
  await page.getByText('None: what they may do comes from').waitFor();

  // A token that can do what it says, and no more; its secret is shown once.
  await open('/organization/tokens', 'My tokens');
  await page.getByRole('button', { name: 'Mint a token' }).click();
  await page.getByText('Without a scope it may do all').waitFor();
  await page.getByRole('textbox', { name: 'Name (needed)' }).fill('deploys');
  await page.getByRole('button', { name: 'Narrow it to a role' }).click();
  await page.getByLabel('Role').selectOption('oncall.viewer');
  await page.getByText('On everything').click();
  await page.getByLabel(hostile).check();
  const will = page.getByRole('region', { name: 'What it will be able to do' });
  await will.getByText('on 1').first().waitFor();
  assert.equal(await will.getByRole('heading', { level: 3 }).count(), 1, 'of on-call alone');
  await page.evaluate('scrollTo(0, 0)');
  await fits('token-new');
  await page.getByRole('button', { name: 'Mint the token' }).click();
  await dialog.getByText('This is shown once').waitFor();
  const key = (await dialog.locator('pre').first().textContent())!;
  assert.match(key, /^qd_\w+$/);
  await page.keyboard.press('Escape');
  await page.getByRole('row', { name: /deploys/ }).waitFor();
  assert.ok(!(await page.content()).includes(key));
  const rights = await fetch(`${qd.url}/api/v1/me/rights`, { headers: { authorization: `Bearer ${key}` } });
  const { permissions } = (await rights.json()) as { permissions: Record<string, unknown> };
  assert.ok(
    Object.keys(permissions).every((permission) => /^oncall\.\w+\.read$/.test(permission)),
    JSON.stringify(permissions),
  );
  assert.deepEqual(permissions['oncall.incident.read'], [service.body.id]);

  // Who did what.
  await open('/organization/audit', 'Audit log');
  await page.getByText('tokens.token.create').first().waitFor();
  await page.getByLabel('Action begins with').fill('iam.role');
  await page.keyboard.press('Enter');
  await page.getByText('tokens.token.create').first().waitFor({ state: 'detached' });
  assert.match(page.url(), /action=iam\.role/);
  await page.getByText('iam.role.update').first().waitFor();
  await fits('audit');
  await page.reload();
  await page.getByText('iam.role.update').first().waitFor();
  assert.equal(await page.getByText('tokens.token.create').count(), 0);
  await page.getByLabel('Action begins with').fill('no.such');
  await page.keyboard.press('Enter');
  await page.getByText('Nothing matches').waitFor();
  await page.getByRole('button', { name: 'Show all' }).click();
  await page.getByText('tokens.token.create').first().waitFor();
  await open('/organization/profile', 'Default');
  await page.getByText('uptime', { exact: true }).waitFor();
});
