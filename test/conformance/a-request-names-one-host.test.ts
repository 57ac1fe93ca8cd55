import assert from 'node:assert/strict';
import { test } from 'node:test';
import { quarterdeck } from '../harness/index.ts';
import { refusal } from './judge.ts';
import { parse, raw } from './wire.ts';

const paths = ['/healthz', '/api/v1/me', '/v2/', '/token', '/agent/v1/session', '/status/acme', '/docs', '/nowhere'];

test('two Host headers, and one that names no host, are 400 everywhere', async (t) => {
  const { url } = await quarterdeck(t, { env: { QUARTERDECK_STATUS_URL: 'http://status.example' } });
  const ask = async (path: string, hosts: string, version = '1.1') =>
    parse(await raw(url, (socket) => socket.write(`GET ${path} HTTP/${version}\r\n${hosts}Connection: close\r\n\r\n`, 'latin1')));
  const several = 'there are several Host headers; send exactly one';
  const none = 'the Host header is not a host name or address, with or without a port';

  for (const path of paths) {
    const table: [hosts: string, sentence: string][] = [
      ['Host: x\r\nHost: y\r\n', several],
      ['Host: x\r\nhOST: x\r\n', several],
      ['Host: status.example\r\nHost: x\r\n', several],
      ['Host: x\r\nX: y\r\nHost:\r\n', several],
      ['Host:\r\n', none],
      ['Host: a b\r\n', none],
      ['Host: x/y\r\n', none],
      ['Host: x@y\r\n', none],
      ['Host: x, y\r\n', none],
      ['Host: x:port\r\n', none],
      ['Host: http://x\r\n', none],
      ['Host: [::1\r\n', none],
      ['Host: x\xff\r\n', none],
      ['', 'the Host header is missing; HTTP/1.1 needs one'],
    ];
    for (const [hosts, sentence] of table) {
      const answer = await ask(path, hosts);
      assert.deepEqual([answer.status, refusal(answer)], [400, sentence], `${path} ${hosts}`);
    }
    assert.equal((await ask(path, 'Host: x\r\nHost: y\r\n', '1.0')).status, 400, path);
  }
  for (const host of ['x', 'x:80', 'a_b.example:8080', '127.0.0.1:1', '[::1]', '[2001:db8::1]:443', 'xn--bcher-kva.example', 'x:'])
    assert.equal((await ask('/healthz', `Host: ${host}\r\n`)).status, 200, host);
  assert.equal((await ask('/healthz', '', '1.0')).status, 200, 'HTTP/1.0 knows no Host');
});
