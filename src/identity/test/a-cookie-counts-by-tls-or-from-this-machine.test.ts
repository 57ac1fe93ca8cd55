import assert from 'node:assert/strict';
import type { IncomingMessage } from 'node:http';
import { test } from 'node:test';
import { makePeers } from '../../kernel/http/peer.ts';
import { isOwnHost } from '../rules/own-host.ts';
import { cookieIn } from '../session-cookie.ts';

const local = '127.0.0.1';
const afar = '192.0.2.7';

/** A request from an address, over plain HTTP unless it says so. */
const from = (remoteAddress: string, headers: Record<string, string> = {}, encrypted = false) =>
  ({ headers: { cookie: 'a=1; qd=key; b=2', ...headers }, socket: { remoteAddress, encrypted } }) as unknown as IncomingMessage;

test('a cookie counts by TLS, or from this machine, and what only a proxy of the operator says about it', () => {
  const found = (request: IncomingMessage, proxies: string[] = []) => cookieIn(request, { peers: makePeers(proxies) }, 'qd');
  const proto = (scheme: string, address = '198.51.100.4') => ({ 'x-forwarded-proto': scheme, 'x-forwarded-for': address });

  assert.equal(found(from(local)), 'key');
  assert.equal(found(from('::1')), 'key');
  assert.equal(found(from('::ffff:127.0.0.1')), 'key');
  assert.equal(found(from(afar, {}, true)), 'key');
  assert.equal(found(from(afar)), undefined, 'in between, others could read it');
  assert.equal(found(from('::ffff:192.0.2.7')), undefined);
  assert.equal(found(from(afar, proto('https'))), undefined, 'anybody can say so');

  assert.equal(found(from(afar, proto('https')), [afar]), 'key', 'the operator’s proxy speaks TLS');
  assert.equal(found(from(afar, proto('http')), [afar]), undefined);
  assert.equal(found(from(afar, proto('https, http')), [afar]), undefined, 'the last hop counts');
  assert.equal(found(from(local, proto('https')), [local]), 'key');
  assert.equal(found(from(local, proto('http')), [local]), undefined, 'a proxy on this machine, for a person who is not');
  assert.equal(found(from(local, proto('http', '127.0.0.1')), [local]), 'key');
  assert.equal(found(from(local, proto('http', '::1')), [local]), 'key');

  assert.equal(found(from(local, { cookie: 'xqd=1; qd-b=2' })), undefined);
  assert.equal(found(from(local, { cookie: `qd=key; ${'a'.repeat(20_000)}` })), undefined);
});

test('a host is ours by the public name, with its usual port or without, and as this machine itself', () => {
  const own = (host: string | undefined, publicUrl = 'https://deck.example') => isOwnHost(host, publicUrl);
  for (const host of ['deck.example', 'Deck.Example', 'deck.example:443', 'localhost', 'localhost:8080', '127.0.0.1:1', '[::1]'])
    assert.equal(own(host), true, host);
  for (const host of [
    undefined,
    '',
    'deck.example:80',
    'deck.example.',
    'x.deck.example',
    'localhost.',
    '127.0.0.2',
    '127.1',
    '[::]',
    '0.0.0.0',
    'localhost:65536',
    '[::1]:99999',
  ])
    assert.equal(own(host), false, String(host));
  assert.equal(own('deck.example:8443', 'https://deck.example:8443'), true);
  assert.equal(own('deck.example', 'https://deck.example:8443'), false);
  assert.equal(own('192.0.2.1:80', 'http://192.0.2.1'), true);
});
