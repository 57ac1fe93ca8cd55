import assert from 'node:assert/strict';
import { createHash, X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { createServer, request as httpsRequest } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import { type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { connect, type TLSSocket } from 'node:tls';
import { makeInnerKeys } from '../../../areas/clusters/engine/inner-keys.ts';
import { makeAuthority, makeLeaf, newKey } from '../../../areas/clusters/engine/issue.ts';
import { makeFront } from '../../../areas/clusters/planes/front/index.ts';
import { makePeers } from '../../../kernel/http/peer.ts';
import { makeLog } from '../../../kernel/log.ts';
import { makeTarget } from '../clients/dial.ts';
import type { ForwardContext } from '../engine/state.ts';
import { makeTargetPool } from '../engine/target-pool.ts';
import { forwardRequest } from '../planes/forward.ts';
import { forwardUpgrade } from '../planes/upgrade.ts';
import { capacityOf } from './support.ts';

const ca = { ...makeAuthority('kubernetes', newKey()), commonName: 'kubernetes' };
const inner = makeInnerKeys(ca);
const serving = makeLeaf(ca, { subject: { commonName: 'kube-apiserver' }, usage: 'server', hosts: ['127.0.0.1'] });
const node = makeLeaf(ca, { subject: { commonName: 'system:node:a', organizations: ['system:nodes'] }, usage: 'client' });

/** An apiserver as far as it matters here: says who it takes the caller for, then gives every byte back. */
async function echoServer(t: TestContext): Promise<number> {
  const server = createServer({
    cert: inner.apiserver.certificate,
    key: inner.apiserver.key,
    ca: inner.frontAuthority.certificate,
    requestCert: true,
    rejectUnauthorized: false,
  });
  const who = (request: { socket: unknown; headers: Record<string, unknown> }) => {
    const socket = request.socket as TLSSocket;
    const isFront = socket.authorized && socket.getPeerX509Certificate()?.subject === 'CN=quarterdeck-front';
    return isFront ? String(request.headers['x-remote-user']) : 'nobody';
  };
  server.on('upgrade', (request, socket: Duplex) => {
    socket.on('error', () => {});
    if (request.url?.includes('silent')) return;
    if (request.url?.includes('refuse')) return void socket.end('HTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\n\r\nno');
    socket.write(`HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: ${request.headers.upgrade}\r\n\r\n${who(request)}|`);
    socket.pipe(socket);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

test('a terminal carries bytes both ways with the front’s identity, and closes when its certificate is refused', async (t) => {
  const refused = new Set<string>();
  const targets = makeTargetPool();
  const target = makeTarget(await echoServer(t), inner);
  t.after(() => targets.close(target));
  const forwarding: ForwardContext = {
    pool: targets,
    maxInflight: () => 10,
    isRefused: (print) => refused.has(print),
    ending: new AbortController().signal,
    capacity: capacityOf(0),
    inflight: 0,
    figures: { requests: 0, errors: 0, inflightPeak: 0 },
  };
  const front = makeFront(makeLog('silent'), makePeers([]));
  const door = await front.open({
    id: 'cls_1',
    listen: { host: '127.0.0.1', port: 0 },
    serverName: undefined,
    maxConnections: () => 30,
    maxInflight: () => 30,
    keys: { certificate: serving.certificate, key: serving.key, authority: ca.certificate, innerAuthority: inner.authority.certificate },
    serve: (request, response, { identity }) => forwardRequest(forwarding, request, response, identity),
    upgrade: (request, socket, head, { identity }) => forwardUpgrade(forwarding, request, socket, head, identity),
  });
  t.after(() => door.close());
  const ask = (path: string, headers: Record<string, string>, own?: { certificate: string; key: string }) =>
    httpsRequest({
      host: '127.0.0.1',
      port: door.port,
      path,
      method: 'POST',
      agent: false,
      ca: ca.certificate,
      ...(own ? { cert: own.certificate, key: own.key } : {}),
      headers: { connection: 'Upgrade', 'x-remote-user': 'system:admin', ...headers },
    }).end();
  const exec = '/api/v1/namespaces/default/pods/a/exec?command=sh';

  // No apiserver yet: said in Kubernetes' words.
  const early = ask(exec, { upgrade: 'SPDY/3.1' }, node);
  assert.equal((await once(early, 'response'))[0].statusCode, 503);
  targets.switchTo([target]);

  const [, talk] = (await once(ask(exec, { upgrade: 'SPDY/3.1' }, node), 'upgrade')) as [unknown, Duplex];
  talk.write('x'.repeat(300_000));
  let said = '';
  talk.on('data', (piece) => (said += piece));
  while (said.length < 'system:node:a|'.length + 300_000) await once(talk, 'data');
  assert.equal(said, `system:node:a|${'x'.repeat(300_000)}`);

  // Without a certificate there are no identity headers; another kind of upgrade is a plain request; a refusal is returned unchanged.
  const [, stranger, head] = (await once(ask(exec, { upgrade: 'websocket' }), 'upgrade')) as [unknown, Duplex, Buffer];
  const first = head.length > 0 ? head : (await once(stranger, 'data'))[0];
  assert.match(String(first), /^nobody\|/);
  stranger.destroy();
  const no = ask(`${exec}&refuse`, { upgrade: 'SPDY/3.1' }, node);
  assert.equal((await once(no, 'response'))[0].statusCode, 403);

  // A stranger that keeps its half open after a refusal is not waited for.
  const half = { host: '127.0.0.1', port: door.port, ca: ca.certificate, allowHalfOpen: true };
  const kept = connect(half);
  kept.write('GET /api/v1/pods?refuse HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n');
  await once(kept.resume(), 'end');
  assert.equal(forwarding.inflight, 1);
  while (forwarding.inflight > 0) await sleep(5);
  kept.on('error', () => {}).destroy();

  // Upgrades count as requests in flight, up to the tier's limit, until an apiserver accepts them.
  const slow = Array.from({ length: 9 }, () => ask('/api/v1/pods?silent', { upgrade: 'websocket' }, node).on('error', () => {}));
  while (forwarding.inflight < 9) await sleep(5);
  const [, terminal] = (await once(ask('/apis/own/console', { upgrade: 'websocket' }, node), 'upgrade')) as [unknown, Duplex];
  assert.equal(forwarding.inflight, 9, 'a terminal is none of them');
  slow.push(ask('/api/v1/pods?silent', { upgrade: 'websocket' }, node).on('error', () => {}));
  while (forwarding.inflight < 10) await sleep(5);
  assert.equal((await once(ask('/api/v1/pods', { upgrade: 'websocket' }, node), 'response'))[0].statusCode, 429);
  for (const each of slow) each.destroy();
  while (forwarding.inflight > 0) await sleep(5);
  terminal.destroy();

  // The node is deregistered: what it has open is cut, and nothing new is let in.
  const print = createHash('sha256').update(new X509Certificate(node.certificate).raw).digest('hex');
  const ended = once(talk, 'close');
  refused.add(print);
  door.cut(refused);
  await ended;
  assert.equal((await once(ask(exec, { upgrade: 'SPDY/3.1' }, node), 'response'))[0].statusCode, 401);
  assert.equal(forwarding.inflight, 0);
});
