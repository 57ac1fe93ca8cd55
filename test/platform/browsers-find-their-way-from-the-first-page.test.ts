import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Page } from 'playwright-core';
import { browser } from '../harness/browser.ts';
import { quarterdeck } from '../harness/index.ts';

/** Notes each complaint of the browser, and each request to another origin. */
function watch(page: Page, url: string): string[] {
  const noted: string[] = [];
  page.on('console', (message) => message.type() === 'error' && noted.push(message.text()));
  page.on('pageerror', (error) => noted.push(String(error)));
  page.on('request', (request) => /^(data|blob):/.test(request.url()) || request.url().startsWith(url) || noted.push(request.url()));
  return noted;
}

test('a browser finds the documentation from the first page, and nothing of it leaves this server', { timeout: 240_000 }, async (t) => {
  const { url } = await quarterdeck(t);
  const chromium = await browser(t);
  const page = await chromium.newPage({ viewport: { width: 360, height: 740 } });
  page.setDefaultTimeout(100_000); // the reference is megabytes of script
  const noted = watch(page, url);
  await page.goto(url);
  assert.equal(await page.title(), 'Quarterdeck');
  assert.ok((await page.evaluate('document.documentElement.scrollWidth')) === 360, 'it fits a phone');
  for (const label of ['Container registry', 'Email', 'On-call'])
    assert.ok(await page.getByText(label, { exact: true }).isVisible(), label);
  const pictures = process.env['QUARTERDECK_PICTURES'];
  if (pictures) await page.screenshot({ path: `${pictures}/home-360.png`, fullPage: true });

  await page.getByRole('link', { name: 'Every operation' }).click();
  await page
    .getByRole('heading', { name: /Quarterdeck/ })
    .first()
    .waitFor();
  await page.setViewportSize({ width: 1280, height: 900 });
  await page.getByText('/api/v1/registry/login-credentials').first().waitFor();
  if (pictures) await page.screenshot({ path: `${pictures}/docs-1280.png` });
  const words = await page.evaluate('document.body.innerText');
  assert.doesNotMatch(String(words), /Ask AI|Test Request|Open API Client|Powered by|\bShare\b|\bDeploy\b/);
  assert.deepEqual(noted, []);
});

test('a program at the first page gets what it got before', async (t) => {
  const { url } = await quarterdeck(t);
  const answer = await fetch(url, { headers: { Accept: 'application/json' } });
  assert.equal(answer.status, 404);
  assert.match(await answer.text(), /^{"error":"\S/);
});
