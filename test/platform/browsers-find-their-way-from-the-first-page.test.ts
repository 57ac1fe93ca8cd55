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
  await pasteToken(page);
  assert.deepEqual(noted, []);
  await assert.rejects(page.evaluate("fetch('/api/v1/me')"), /Failed to fetch/, 'the policy allows no request');
});

/** A pasted token fills the snippets that take it, and is nowhere else. The cookie stands for a session of later. */
async function pasteToken(page: Page): Promise<void> {
  const token = 'qd_pat_pastedByHand';
  const asked: string[] = [];
  page.on('request', (request) => void asked.push(request.url()));
  await page.context().addCookies([{ name: 'session', value: 'signed-in', url: page.url() }]);

  await page.getByLabel('Token').fill(token);
  await page.getByText(`Authorization: Bearer ${token}`).first().waitFor();
  await page.goto(`${page.url().split('#')[0]}#tag/email/POST/api/v1/email/send`);
  await page.getByText('Authorization: Bearer YOUR_SECRET_TOKEN').first().waitFor(); // it takes a send key
  await page.getByLabel('Token').fill('qd_mail_pastedByHand');
  await page.getByText('Authorization: Bearer qd_mail_pastedByHand').first().waitFor();
  assert.ok(!(await snippets(page)).includes(token), 'the token before is gone');
  await page.getByLabel('Token').fill('hunter2');
  await page.getByText('A token begins with qd_pat_').waitFor();
  assert.ok(!(await snippets(page)).includes('hunter2'));

  await page.getByLabel('Token').fill(token);
  await page.getByText(`Authorization: Bearer ${token}`).first().waitFor();
  await copiesText(page);
  assert.deepEqual(asked, [], 'no request since');
  assert.doesNotMatch(page.url(), /pastedByHand/);
  assert.equal(await page.evaluate('window.origin'), 'null', 'the page has no origin, so no session either');
  await assert.rejects(page.evaluate('document.cookie'), /SecurityError/);
  const { cookies, origins } = await page.context().storageState({ indexedDB: true });
  assert.deepEqual([cookies.map(({ name }) => name), origins], [['session'], []]);

  await page.reload();
  await page.getByText('Authorization: Bearer YOUR_SECRET_TOKEN').first().waitFor();
  assert.equal(await page.getByLabel('Token').inputValue(), '');
  assert.doesNotMatch(await snippets(page), /pastedByHand/);
}

const snippets = async (page: Page): Promise<string> => String(await page.evaluate("document.getElementById('app').textContent"));

/** A page without an origin has no clipboard of its own; copying goes on. */
async function copiesText(page: Page): Promise<void> {
  const link = page.getByRole('button', { name: 'Copy link', exact: true }).first();
  await link.dispatchEvent('focus');
  await link.click({ force: true });
  await page.getByLabel('Token').fill('');
  await page.getByLabel('Token').press('Control+V');
  assert.match(await page.getByLabel('Token').inputValue(), /\/docs#/);
}

test('the page of the API has no origin, and only scripts of this server', async (t) => {
  const { url } = await quarterdeck(t);
  for (const path of ['/docs', '/docs/']) {
    const answer = await fetch(url + path);
    assert.equal(answer.status, 200);
    const policy = answer.headers.get('content-security-policy')!;
    assert.match(policy, /^sandbox allow-scripts; default-src 'none'; script-src 'self'; /);
    assert.doesNotMatch(policy, /connect-src|allow-same-origin|allow-forms|unsafe-eval/);
    const html = await answer.text();
    assert.deepEqual(html.match(/<script[^>]*>/g), [
      '<script type="application/json" id="reference">',
      '<script src="/docs/js/page.js">',
      '<script src="/docs/js/scalar.js">',
    ]);
  }
  assert.equal((await fetch(`${url}/docs/nowhere`)).status, 404);
});

test('a program at the first page gets what it got before', async (t) => {
  const { url } = await quarterdeck(t);
  const answer = await fetch(url, { headers: { Accept: 'application/json' } });
  assert.equal(answer.status, 404);
  assert.match(await answer.text(), /^{"error":"\S/);
});
