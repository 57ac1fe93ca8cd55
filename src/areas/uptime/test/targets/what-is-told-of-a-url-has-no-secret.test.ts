import assert from 'node:assert/strict';
import { test } from 'node:test';
import { httpTarget, tcpTarget } from '../../../../programs/prober/test/support.ts';
import { sendsHidden, shownUrl, withoutQueries } from '../../../../protocols/agent.ts';
import { addressOf } from '../../rules/masked-target.ts';

test('of a URL, scheme, host, port and path are told', () => {
  const table: [string, string][] = [
    ['https://shop.example', 'https://shop.example'],
    ['https://shop.example/health', 'https://shop.example/health'],
    ['https://shop.example:8443/a/b/?token=x', 'https://shop.example:8443/a/b/'],
    ['https://shop.example?token=x', 'https://shop.example'],
    ['https://shop.example/#token', 'https://shop.example/'],
    ['https://shop.example/#a?token', 'https://shop.example/'],
    ['https://user:pass@shop.example/', 'https://shop.example/'],
    ['https://user:p@ss@shop.example/a@b', 'https://shop.example/a@b'],
    ['HTTPS:\\\\user@shop.example\\a', 'HTTPS:\\\\shop.example\\a'],
    ['https://token@shop.example', 'https://shop.example'],
  ];
  for (const [url, shown] of table) {
    assert.equal(shownUrl(url), shown, url);
    assert.equal(addressOf(httpTarget(url)), shown, url);
  }
  assert.equal(addressOf({ ...tcpTarget(22), host: '::1' }), '[::1]:22');
});

test('of a text that a target had a hand in, URLs lose what is no place', () => {
  const table: [string, string][] = [
    ['nothing of it', 'nothing of it'],
    ['see http://a.example/b?c=d, "https://u:p@e.example/f?g"', 'see http://a.example/b "https://e.example/f"'],
    ['HTTPS:\\\\u:p@e.example\\f?g and more', 'HTTPS:\\\\e.example\\f and more'],
  ];
  for (const [text, clean] of table) assert.equal(withoutQueries(text), clean);
});

test('whatever readers do not see of what is sent is hidden', () => {
  const url = 'https://shop.example/health';
  const hidden = [
    httpTarget(`${url}?a`),
    httpTarget('https://me@shop.example/'),
    httpTarget(url, { headers: { accept: '' } }),
    httpTarget(url, { bodyBase64: '' }),
    tcpTarget(1, { sendBase64: '' }),
  ];
  for (const target of hidden) assert.ok(sendsHidden(target), JSON.stringify(target));
  for (const target of [httpTarget(url, { expectBodyContains: 'ok' }), tcpTarget(1, { expectPrefixBase64: '' })])
    assert.ok(!sendsHidden(target), JSON.stringify(target));
});
