import assert from 'node:assert/strict';
import { test } from 'node:test';
import { quarterdeck } from '../harness/index.ts';

test('the API describes itself: a document of what is served, and pages that read it and nothing else', async (t) => {
  const { url, anonymous } = await quarterdeck(t);
  const document = await anonymous.get('/openapi.json');
  assert.equal(document.status, 200);
  assert.match(document.body.openapi, /^3\.1/);
  assert.ok(document.body.paths['/api/v1/tokens'] ?? document.body.paths['/tokens']);

  const page = await fetch(`${url}/docs`);
  assert.equal(page.status, 200);
  assert.match(page.headers.get('content-type')!, /^text\/html/);
  const policy = page.headers.get('content-security-policy')!;
  assert.match(policy, /default-src 'none'/);
  assert.match(policy, /^sandbox allow-scripts;/);
  assert.doesNotMatch(policy, /connect-src|allow-same-origin/);
  assert.equal(page.headers.get('x-content-type-options'), 'nosniff');
  assert.match(page.headers.get('x-request-id')!, /^req_/);
  const html = await page.text();
  assert.match(html, /\/api\/v1\/openapi\.json/);

  // Everything it loads comes from here.
  const loaded = [...html.matchAll(/<(?:script|link|img)\b[^>]*?(?:src|href)="([^"]+)"/g)].map((m) => new URL(m[1]!, page.url));
  assert.ok(loaded.length > 0);
  for (const at of loaded.filter(({ protocol }) => protocol !== 'data:')) {
    assert.equal(at.origin, url, at.href);
    const answer = await fetch(at);
    assert.equal(answer.status, 200, at.href);
    await answer.arrayBuffer();
  }
});
