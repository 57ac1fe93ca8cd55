import assert from 'node:assert/strict';
import { test } from 'node:test';
import { run } from '../../src/kernel/db/index.ts';
import { consoleOf } from '../harness/console.ts';
import { quarterdeck } from '../harness/index.ts';
import { pusherOf, tagMany } from './pushed.ts';

const hostile = '<img src=x onerror=alert(1)> \u202egnp.exe';

test('a registry is made, its ten thousand tags are filtered, an image is pulled, deleted with what goes along, and CI is let in', {
  timeout: 150_000,
}, async (t) => {
  const qd = await quarterdeck(t, { env: { QUARTERDECK_ROLES: 'api,registry,worker' } });
  const { page, open, fits, forgiveGone } = await consoleOf(t, qd);
  const press = (name: string | RegExp) => page.getByRole('button', { name, exact: true }).click();
  const dialog = page.getByRole('dialog');
  const host = new URL(page.url() === 'about:blank' ? qd.url : page.url()).host.replace('127.0.0.1', 'localhost');

  await open('/registry', 'Registries');
  await page.getByText('quarterdeck registry create --slug shop').waitFor();
  await press('New registry');
  await dialog.getByLabel('Short name').fill('shop');
  await dialog.getByLabel('What people call it').fill(hostile);
  await press('Create the registry');
  await page.getByRole('heading', { level: 1, name: hostile }).waitFor();
  await page.getByText(`docker push ${host}/shop/app:v1`).waitFor();

  // What is pushed appears by itself.
  const { image, index } = await pusherOf(qd, 'shop');
  const shared = 'base '.repeat(2_000);
  const amd = await image('team/app', undefined, 'amd64', [shared, 'amd'.repeat(300)]);
  const arm = await image('team/app', undefined, 'arm64', [shared, 'arm'.repeat(300)]);
  const released = await index('team/app', 'v9.9.9-rc', [
    { ...amd, platform: { os: 'linux', architecture: 'amd64' } },
    { ...arm, platform: { os: 'linux', architecture: 'arm64', variant: 'v8' } },
  ]);
  await image('team/app', undefined, 'amd64', ['signed'], {
    subject: released,
    artifactType: 'application/vnd.dev.sigstore.bundle.v0.3+json',
  });
  const plain = await image('team/app', 'latest', 'amd64', [shared]);
  await tagMany(qd, 'team/app', plain.digest, 10_000);
  await qd.app.db.write(
    (tx) => run(tx)`
      insert into registry.usage_day (org_id, registry_id, day, used_bytes, quota_bytes)
      select org_id, id, (kernel.now() - n * interval '1 day')::date, 400000000 - n * 9000000, quota_bytes from registry.registry, generate_series(2, 41) n`,
  );
  await page.getByRole('link', { name: 'team/app' }).waitFor();
  await open('/registry/shop', hostile);
  await page.getByRole('slider', { name: 'Storage of shop by day' }).waitFor();
  await fits('registry');

  await page.getByRole('link', { name: 'team/app' }).click();
  await page.getByRole('heading', { level: 1, name: 'team/app' }).waitFor();
  await page.getByRole('link', { name: 'latest', exact: true }).waitFor();
  await fits('registry-repository');
  assert.ok((await page.locator('main tr').count()) < 100, 'the list is windowed');
  await page.keyboard.press('End');
  await page.getByText('1,200 tags').waitFor();
  const filter = page.getByLabel('Tag begins with');
  await filter.fill('v9.9');
  await page.getByText('111 tags').waitFor();
  await page.waitForURL(/q=v9\.9/);
  await page.getByRole('link', { name: 'v9.9.9-rc', exact: true }).click();

  await page.getByRole('heading', { level: 1, name: 'v9.9.9-rc' }).waitFor();
  await page.getByText(`docker pull ${host}/shop/team/app:v9.9.9-rc`).waitFor();
  await press('podman');
  await page.getByText(`podman pull ${host}/shop/team/app@${released.digest}`, { exact: true }).waitFor();
  await page.getByText('linux/arm64/v8').waitFor();
  await page.getByRole('row', { name: /Signature/ }).waitFor();
  await fits('registry-image');
  await press('Delete the tag');
  await dialog.getByText('can be pulled by its digest').waitFor();
  await dialog.getByText('The image goes, and 3 manifests that it lists or that are attached to it').waitFor();
  await dialog.getByLabel('Delete its image too').check();
  await fits('registry-purge');
  assert.equal(await dialog.getByRole('button', { name: 'Delete' }).getAttribute('aria-disabled'), 'true');
  await dialog.getByLabel('Type v9.9.9-rc to confirm').fill('v9.9.9-rc');
  await dialog.getByRole('button', { name: 'Delete' }).click();
  await page.getByText('v9.9.9-rc is deleted with its image').waitFor();
  await page.getByRole('tab', { name: /Images/ }).click();
  await page.getByText('1 image', { exact: true }).waitFor();

  await press('Delete');
  await dialog.getByText(/10,001 tags go/).waitFor();
  await dialog.getByRole('button', { name: 'Cancel' }).click();

  // A key, an hour, and CI.
  await open('/registry/shop/keys', 'Keys');
  await press('New key');
  await dialog.getByLabel('Name').fill('ci');
  await dialog.getByLabel('Only below').fill('team/app, libs');
  await press('Mint the key');
  await dialog.getByText(/docker login .* --password-stdin/).waitFor();
  assert.match((await dialog.textContent()) ?? '', /qd_reg_/);
  await page.keyboard.press('Escape');
  assert.doesNotMatch(await page.content(), /qd_reg_/);
  await page.getByText('pull and push below team/app, libs').waitFor();
  await press('Revoke ci');
  await dialog.getByRole('button', { name: 'Revoke' }).click();
  await page.getByRole('row', { name: /^ci.*revoked/ }).waitFor();
  await fits('registry-keys');

  await page.getByRole('link', { name: 'OIDC rules' }).click();
  await page.getByRole('heading', { level: 1, name: 'OIDC rules' }).waitFor();
  await press('New rule');
  await dialog.getByLabel('Name').fill('release');
  await dialog.getByLabel('Subject (needed)').fill('repo:acme/app:ref:refs/heads/*');
  await dialog.getByLabel('Try a subject').fill('repo:acme/app:pull_request');
  await press('Would it match?');
  await dialog.getByText('It would not match').waitFor();
  await press('Create the rule');
  await page.getByText('The rule admits jobs from now on').waitFor();
  await page.getByLabel('Subject of a token').fill('repo:acme/app:ref:refs/heads/main');
  await press('Compare');
  await page.getByText('The job may pull and push').waitFor();
  await fits('registry-oidc');

  await page.getByRole('link', { name: 'Upstreams' }).click();
  await page.getByText(`docker pull ${host}/shop/docker.io/library/alpine:latest`).waitFor();
  await press('Log in at docker.io');
  await dialog.getByLabel('Password or token').waitFor();
  await page.keyboard.press('Escape');
  await fits('registry-upstreams');

  await page.getByRole('link', { name: 'Images', exact: true }).click();
  await press('Docker login for an hour');
  await press('Make the login');
  await dialog.getByText(new RegExp(`docker login ${host} --username`)).waitFor();
  await page.keyboard.press('Escape');
  assert.equal(await page.getByRole('button', { name: 'Delete' }).getAttribute('title'), 'It still has 1 repository: delete it first.');

  // Who may only read is told why.
  const viewer = await qd.member(qd.owner, 'member');
  await qd.owner.post('/iam/grants', { subject: viewer.userId, role: 'registry.viewer' });
  const other = await consoleOf(t, qd, viewer.userId);
  await other.open('/registry/shop/image?repo=team/app&reference=latest', 'latest');
  const refused = other.page.getByRole('button', { name: 'Delete the image' });
  assert.match((await refused.getAttribute('title')) ?? '', /needs the permission registry\.image\.admin/);
  await other.page.close();

  await page.getByRole('link', { name: 'team/app' }).click();
  await press('Delete');
  await dialog.getByLabel('Type team/app to confirm').fill('team/app');
  await dialog.getByRole('button', { name: 'Delete' }).click();
  await page.getByText('No image yet').waitFor();
  forgiveGone('repo=team%2Fapp');
});
