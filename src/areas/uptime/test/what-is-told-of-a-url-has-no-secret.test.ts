import assert from 'node:assert/strict';
import { test } from 'node:test';
import { addressOf, scrubbed, secretsOf, shownUrl } from '../rules/hidden.ts';
import { httpTarget, tcpTarget } from './prober-support.ts';

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

test('of a text that a target wrote, what it was asked with is left out', () => {
  const target = httpTarget('https://shop.example/?token=a%20long+one&x=1', {
    method: 'POST',
    headers: { Authorization: 'Bearer abcdefgh', Accept: '*/*' },
    bodyBase64: Buffer.from('user=me password=hunter22\n').toString('base64'),
  });
  const secrets = secretsOf(target);
  const table: [string, string][] = [
    ['nothing of it', 'nothing of it'],
    ['Bearer abcdefgh is wrong', '*** is wrong'],
    ['the token abcdefgh is wrong', 'the token *** is wrong'],
    ['GET /?token=a%20long+one&x=1', 'GET /?token=***&x=1'],
    ['no a long one here', 'no *** here'],
    ['user=me password=hunter22', '***'],
    ['see http://a.example/b?c=d, "https://u:p@e.example/f?g"', 'see http://a.example/b "https://e.example/f"'],
    ['cut off within abcde', 'cut off within ***'],
    ['1 is too short', '1 is too short'],
  ];
  for (const [text, clean] of table) assert.equal(scrubbed(text, secrets), clean);
  assert.deepEqual(secretsOf(tcpTarget(1, { sendBase64: Buffer.from('AUTH hunter22\r\n').toString('base64') })), [
    'AUTH hunter22',
    'hunter22',
  ]);
  assert.deepEqual(secretsOf(tcpTarget(1)), []);
});
