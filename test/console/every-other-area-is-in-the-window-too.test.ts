import assert from 'node:assert/strict';
import { test } from 'node:test';
import { consoleOf } from '../harness/console.ts';
import { quarterdeck } from '../harness/index.ts';

const hostile = '<b onmouseover=alert(1)>\u202ecod.exe';

test('clusters and the organization are listed, opened and changed', { timeout: 170_000 }, async (t) => {
  const qd = await quarterdeck(t);
  const made = async (path: string, body: object) => {
    const answer = await qd.owner.post(path, body);
    assert.ok(answer.status < 300, `${path} ${JSON.stringify(answer.body)}`);
    return answer.body;
  };
  await made('/clusters', { name: 'dev', tier: 'small' });
  await made('/iam/roles', { name: hostile, permissions: ['oncall.incident.read'] });
  await made('/tokens', { name: hostile });
  await qd.member(qd.owner, 'member', 'ada@example.com');
  const { page, open, fits } = await consoleOf(t, qd);

  await open('/clusters/dev', 'dev');
  await fits('cluster');
  await open('/organization/members', 'Members');
  await page.getByText('ada@example.com').waitFor();
  await fits('members');
  await open('/organization/roles', 'Roles');
  await page.getByRole('rowheader', { name: hostile }).waitFor();
  await open('/organization/tokens', 'My tokens');
  await fits('tokens');
  await page
    .getByRole('row', { name: /cod\.exe/ })
    .getByRole('button', { name: 'Delete' })
    .click();
  await page.getByRole('dialog').getByText('You lose').waitFor();
  await page.getByRole('dialog').locator('button[type=submit]').click();
  await page.getByRole('row', { name: /cod\.exe/ }).waitFor({ state: 'detached' });
  await open('/organization/audit', 'Audit log');
  await page.getByText('tokens.token.delete').first().waitFor();
  await fits('audit');
});
