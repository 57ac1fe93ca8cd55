import assert from 'node:assert/strict';
import { test } from 'node:test';
import { wire } from '../../../../test/conformance/wire.ts';
import { quarterdeck } from '../../../../test/harness/index.ts';
import { browserLike, signedIn } from '../../../../test/harness/visitor.ts';
import { insertMember } from '../../organization/store/members.ts';

test('the document is small, strict and the same for every screen; its parts are kept for ever', async (t) => {
  const { url } = await quarterdeck(t);
  const [home, deep] = await Promise.all([fetch(`${url}/o/default/`), fetch(`${url}/o/other/uptime/monitors?state=down`)]);
  const [text, same] = await Promise.all([home.text(), deep.text()]);
  assert.equal(text, same);
  const policy = home.headers.get('content-security-policy')!;
  for (const part of [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
  ])
    assert.ok(policy.includes(part), part);
  assert.doesNotMatch(policy, /unsafe|https?:|\*/);
  assert.equal(home.headers.get('cross-origin-opener-policy'), 'same-origin');
  assert.equal(home.headers.get('cache-control'), 'no-cache');
  assert.equal(home.headers.get('x-content-type-options'), 'nosniff');
  assert.equal((await fetch(`${url}/o/default/`, { headers: { 'if-none-match': home.headers.get('etag')! } })).status, 304);

  const parts = [...text.matchAll(/\/assets\/[\w.-]+/g)].map(([path]) => path);
  assert.ok(parts.length > 2);
  for (const path of parts) {
    const part = await fetch(url + path);
    assert.equal(part.status, 200, path);
    assert.match(part.headers.get('cache-control')!, /immutable/);
    await part.arrayBuffer();
  }
});

test('an unknown part is a 404 and never the document, and nothing is sent to another host', async (t) => {
  const { url } = await quarterdeck(t);
  for (const path of ['/assets/console-GONE.js', '/assets/', '/assets/../o/default/', '/assets/%2e%2e/manifest.json']) {
    const answer = await fetch(url + path);
    const text = await answer.text();
    if (!path.includes('..')) assert.equal(answer.status, 404, path);
    assert.ok(path.includes('..') || !text.includes('id="console"'), path);
  }
  assert.equal((await fetch(`${url}/o/default/`, { method: 'POST' })).status, 405);
  const { send, close } = wire(url);
  t.after(close);
  for (const path of ['/o/default/', '/o', '/assets/x.js'])
    assert.equal((await send({ method: 'GET', path, headers: { host: 'evil.example' } })).status, 421, path);
});

test('people are led to their organization, or to sign in', async (t) => {
  const qd = await quarterdeck(t);
  const stranger = browserLike(qd.url);
  assert.equal((await stranger.get('/o')).path, '/sign-in?next=/o');
  const member = await signedIn(qd, qd.owner.userId);
  assert.equal((await member.get('/o')).path, '/o/default/');
  assert.equal((await member.get('/', { accept: 'text/html' })).path, '/o/default/');

  const other = await qd.organization('second');
  await qd.app.db.write((tx) => insertMember(tx, other.orgId, qd.owner.userId, 'member'));
  const choice = await member.get('/o');
  assert.equal(choice.path, '/o');
  assert.match(choice.text, /href="\/o\/default\/"[\s\S]*href="\/o\/second\/"/);
  member.cookies.set('qd-organization', 'second');
  assert.equal((await member.get('/o')).path, '/o/second/');
  member.cookies.set('qd-organization', 'https://evil.example');
  assert.equal((await member.get('/o')).path, '/o');
});
