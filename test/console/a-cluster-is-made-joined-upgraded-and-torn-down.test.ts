import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { clusters as area } from '../../src/areas/clusters/index.ts';
import { clusterByName } from '../../src/areas/clusters/store/clusters.ts';
import { consoleOf } from '../harness/console.ts';
import { quarterdeck } from '../harness/index.ts';

test('a cluster is made, followed through its phases, joined, upgraded and torn down', { timeout: 120_000 }, async (t) => {
  const qd = await quarterdeck(t);
  const { page, open, fits } = await consoleOf(t, qd);
  const dialog = page.getByRole('dialog');

  await open('/clusters', 'Clusters');
  await page.getByText('Nothing here yet').waitFor();
  await page.getByRole('button', { name: 'Create a cluster' }).click();
  await dialog.getByLabel('Name').fill('dev');
  await dialog.getByLabel('Tier').selectOption('small');
  await dialog.getByText('More (').click();
  await dialog.getByLabel('Orchestrator version').fill('v1.35.0+embedded');
  await dialog.locator('button[type=submit]').click();
  await dialog.getByText('Done: create a cluster').or(dialog.getByText('pending')).first().waitFor();
  await page.keyboard.press('Escape');
  await page.getByRole('link', { name: 'dev', exact: true }).click();

  // Its phases, each with its time.
  const steps = page.getByRole('list', { name: 'From asked for to ready' });
  await steps.locator('[aria-current=step]', { hasText: 'ready' }).waitFor();
  assert.equal(await steps.getByText('ahead').count(), 0);
  await fits('cluster');

  // The join command, whole, and gone when the dialog is.
  await page.getByRole('button', { name: 'Join a node' }).click();
  await dialog.getByRole('button', { name: 'Mint a join token' }).click();
  const command = await dialog.locator('pre').textContent();
  assert.match(command!, /^kubeadm join \S+ --token \w{6}\.\w{16} --discovery-token-ca-cert-hash sha256:[0-9a-f]{64}/);
  await fits('cluster-join');
  await page.keyboard.press('Escape');
  assert.ok(!(await page.content()).includes(command!));

  // The client configuration as a file, never kept.
  await page.getByRole('button', { name: 'Kubeconfig' }).click();
  const [file] = await Promise.all([page.waitForEvent('download'), dialog.getByRole('button', { name: 'Download it' }).click()]);
  assert.equal(file.suggestedFilename(), 'dev.kubeconfig');
  const token = /token: "?([\w.-]+)/.exec(await readFile(await file.path(), 'utf8'))![1]!;
  await page.keyboard.press('Escape');
  assert.ok(!(await page.content()).includes(token));

  // A node that tells no version is in the way of an upgrade.
  await open('/clusters/dev/nodes', 'Nodes');
  await page.getByText('No node has joined yet').waitFor();
  const row = (await qd.app.db.read((tx) => clusterByName(tx, qd.owner.orgId, 'dev')))!;
  await qd.own(area).tenants.with(row, async (ask) => {
    const { status } = await ask('POST', '/api/v1/nodes', { apiVersion: 'v1', kind: 'Node', metadata: { name: 'worker-1' } });
    assert.equal(status, 201);
  });
  await page.reload();
  await page.getByRole('row', { name: /worker-1/ }).waitFor();
  await fits('cluster-nodes');
  await open('/clusters/dev/upgrades', 'Upgrades');
  await page.getByText('worker-1 runs an unknown version: upgrade it first').waitFor();
  const upgrade = page.getByRole('button', { name: 'Upgrade', exact: true });
  assert.equal(await upgrade.getAttribute('aria-disabled'), 'true');
  await fits('cluster-upgrades');
  await open('/clusters/dev/nodes', 'Nodes');
  await page.getByRole('button', { name: 'Deregister' }).click();
  await dialog.getByRole('button', { name: 'Deregister' }).click();
  await page.getByText('No node has joined yet').waitFor();
  await open('/clusters/dev/upgrades', 'Upgrades');
  await upgrade.click();
  await dialog.getByRole('button', { name: 'Upgrade' }).click();
  await page.getByRole('heading', { level: 1, name: 'dev' }).waitFor();
  await page.locator('.log li', { hasText: 'updating' }).getByText('v1.36.0+embedded').waitFor();
  await page.locator('.log li').first().getByText('ready').waitFor();

  // A token for many nodes, shown once.
  await open('/clusters/dev/tokens', 'Registration tokens');
  await page.getByRole('button', { name: /registration token/ }).click();
  await dialog.getByLabel('Name').fill('rack 1');
  await dialog.locator('button[type=submit]').click();
  await dialog.getByText('This is shown once').waitFor();
  assert.match((await dialog.textContent())!, /qd_node_/);
  await page.keyboard.press('Escape');
  assert.doesNotMatch(await page.content(), /qd_node_/);

  // What it uses, and what its driver cannot give it.
  await open('/clusters/dev/usage', 'Usage');
  await page.getByText('What this cluster does not get').waitFor();
  await page.getByRole('heading', { name: 'Month by month' }).waitFor();
  await fits('cluster-usage');

  // For good: the name is typed, in this dialog and in one that is made from the table.
  await qd.owner.post('/registry/registries', { slug: 'shop', displayName: 'Shop' });
  await open('/registry/shop', 'Shop');
  await page.getByRole('button', { name: 'Delete', exact: true }).click();
  await dialog.getByLabel('Type shop to confirm').fill('shep');
  assert.equal(await dialog.locator('button.danger').getAttribute('aria-disabled'), 'true');
  await dialog.getByLabel('Type shop to confirm').fill('shop');
  assert.equal(await dialog.locator('button.danger').getAttribute('aria-disabled'), null);
  await page.keyboard.press('Escape');
  await open('/clusters/dev', 'dev');
  await page.getByRole('button', { name: 'Delete', exact: true }).click();
  await dialog.getByLabel('Type dev to confirm').fill('dev');
  await dialog.getByRole('button', { name: 'Delete', exact: true }).click();
  await page.getByText('dev is being torn down').waitFor();
  await page.getByText('Nothing here yet').waitFor();
});
