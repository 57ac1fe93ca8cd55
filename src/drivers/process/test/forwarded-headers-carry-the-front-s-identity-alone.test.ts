import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { isLongRunning, isUpgrade, requestHeaders, responseHeaders } from '../rules/forwarding.ts';

const named = { commonName: 'system:node:a', organizations: ['system:nodes'], fingerprint: 'ab' };

/** A name in any letter case, with hyphens or underscores. */
const spelled = (name: string) =>
  fc
    .array(fc.boolean(), { minLength: name.length, maxLength: name.length })
    .map((flips) => [...name].map((c, n) => (c === '-' ? (flips[n] ? '_' : '-') : flips[n] ? c.toUpperCase() : c)).join(''));
const forbidden = fc.oneof(
  ...['x-remote-user', 'x-remote-group', 'x-remote-uid', 'x-remote-extra-scopes', 'x-forwarded-for', 'forwarded', 'connection', 'te'].map(
    spelled,
  ),
  ...['transfer-encoding', 'keep-alive', 'upgrade', 'proxy-authorization', 'trailer'].map(spelled),
);

const plain = (name: string) => name.toLowerCase().replaceAll('_', '-');

test('a caller’s identity headers are dropped in every spelling', () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(forbidden, fc.constantFrom('close', 'root', 'x'))), fc.boolean(), (pairs, isNamed) => {
      const raw = ['Accept', '*/*', ...pairs.flat()];
      const onward = requestHeaders(raw, isNamed ? named : undefined)!;
      const own = isNamed
        ? [
            'X-Remote-User',
            'system:node:a',
            'X-Remote-Group',
            'system:nodes',
            'X-Remote-Extra-authentication.kubernetes.io%2fcredential-id',
            'X509SHA256=ab',
          ]
        : [];
      assert.deepEqual(onward, ['Accept', '*/*', ...own]);
    }),
  );
});

test('headers named in Connection are dropped in both directions, and a certificate overrides a token', () => {
  const raw = ['Connection', 'X-Secret, close', 'x-secret', '1', 'Authorization', 'Bearer t', 'Impersonate-User', 'a'];
  assert.deepEqual(requestHeaders(raw, undefined), ['Authorization', 'Bearer t', 'Impersonate-User', 'a']);
  // The front takes an answer for one to the token: it reaches the apiserver whatever Connection names.
  const hidden = ['Connection', 'authorization, Content-Length', 'Authorization', 'Bearer t', 'Content-Length', '0'];
  assert.deepEqual(requestHeaders(hidden, undefined), ['Authorization', 'Bearer t', 'Content-Length', '0']);
  assert.equal(
    requestHeaders(raw, named)!.some((text) => plain(text) === 'authorization'),
    false,
  );
  assert.deepEqual(responseHeaders(['Connection', 'x-own', 'X-Own', '1', 'Audit-Id', 'b', 'Transfer-Encoding', 'chunked']), [
    'Audit-Id',
    'b',
  ]);
});

test('a name that fits in no header is refused, and a non-ASCII name is sent as UTF-8', () => {
  for (const commonName of ['', 'a\r\nX-Remote-Group: system:masters', 'a\u0000'])
    assert.equal(requestHeaders([], { ...named, commonName }), undefined);
  assert.equal(requestHeaders([], { ...named, organizations: ['a\nb'] }), undefined);
  const said = requestHeaders([], { ...named, commonName: 'Jürgen' })![1]!;
  assert.equal(Buffer.from(said, 'latin1').toString('utf8'), 'Jürgen');
});

test('long-running requests are recognized', () => {
  for (const url of ['/api/v1/pods?watch=1', '/api/v1/pods?limit=5&watch=true', '/api/v1/watch/pods', '/apis/apps/v1/watch/deployments'])
    assert.equal(isLongRunning('GET', url), true, url);
  assert.equal(isLongRunning('GET', '/api/v1/namespaces/a/pods/b/log?follow=true'), true);
  assert.equal(isLongRunning('POST', '/api/v1/namespaces/a/pods/b/exec?command=sh'), true);
  assert.equal(isLongRunning('GET', '/api/v1/nodes/worker-1/proxy/stats'), true);
  for (const name of ['exec', 'attach', 'portforward', 'proxy'])
    assert.equal(isLongRunning('GET', `/api/v1/namespaces/${name}/configmaps`), false, `a namespace called ${name}`);
  for (const url of ['/api/v1/pods', '/api/v1/pods?watch=false', '/api/v1/namespaces/a/pods/b/log', '/api/v1/namespaces/watch'])
    assert.equal(isLongRunning('GET', url), false, url);
  // Kubernetes takes the first value, and decodes names.
  for (const query of ['watch=0&watch=1', 'x=watch=1', '%77atch=0&watch=1', 'watch=1&%77atch=0', 'swatch=1', 'watch'])
    assert.equal(isLongRunning('GET', `/api/v1/pods?${query}`), false, query);
  assert.deepEqual(['websocket', 'SPDY/3.1', 'h2c', undefined].map(isUpgrade), [true, true, false, false]);
});
