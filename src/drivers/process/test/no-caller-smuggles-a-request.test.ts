import assert from 'node:assert/strict';
import { once } from 'node:events';
import http from 'node:http';
import { createServer } from 'node:https';
import { type AddressInfo, connect } from 'node:net';
import type { Duplex } from 'node:stream';
import { type TestContext, test } from 'node:test';
import { makeInnerKeys } from '../../../areas/clusters/engine/inner-keys.ts';
import { makeAuthority, newKey } from '../../../areas/clusters/engine/issue.ts';
import { makeTarget } from '../clients/dial.ts';
import type { ForwardContext } from '../engine/state.ts';
import { makeTargetPool } from '../engine/target-pool.ts';
import { forwardRequest } from '../planes/forward.ts';
import { forwardUpgrade } from '../planes/upgrade.ts';
import { isUpgrade } from '../rules/forwarding.ts';
import { capacityOf } from './support.ts';

const inner = makeInnerKeys({ ...makeAuthority('kubernetes', newKey()), commonName: 'kubernetes' });
const node = { commonName: 'system:node:a', organizations: ['system:nodes'], fingerprint: 'ab' };

async function listen(t: TestContext, server: http.Server): Promise<number> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

/** A front before an apiserver that notes each request that it is sent, with whom it is said to be of. */
async function rig(t: TestContext) {
  const heard: string[] = [];
  const far = createServer(
    // As Go does: what follows an answer that came before its question's body is read as the rest of that body.
    { cert: inner.apiserver.certificate, key: inner.apiserver.key, shouldUpgradeCallback: () => false } as object,
    async (request, response) => {
      heard.push(`${request.method} ${request.url} ${request.headers['x-remote-user']}`);
      if (request.url === '/exec') return void response.writeHead(403, { 'content-length': '2' }).end('no');
      for await (const _ of request);
      response.end('{}');
    },
  );
  const target = makeTarget(await listen(t, far as unknown as http.Server), inner);
  const targets = makeTargetPool();
  targets.switchTo([target]);
  t.after(() => targets.close(target));
  const forwarding: ForwardContext = {
    pool: targets,
    maxInflight: () => 10,
    isRefused: () => false,
    ending: new AbortController().signal,
    capacity: capacityOf(0),
    inflight: 0,
    figures: { requests: 0, errors: 0, inflightPeak: 0 },
  };
  const options = { shouldUpgradeCallback: (request: http.IncomingMessage) => isUpgrade(request.headers.upgrade) };
  const near = http.createServer(options as object, (request, response) => forwardRequest(forwarding, request, response, node));
  near.on('upgrade', (request, socket: Duplex, head) => forwardUpgrade(forwarding, request, socket, head, node));
  const port = await listen(t, near);
  /** Writes these bytes on a connection of its own, and waits for its end. */
  const send = async (text: string) => {
    const socket = connect(port, '127.0.0.1', () => socket.write(text));
    socket.on('error', () => {}).resume();
    await once(socket, 'close');
  };
  return { heard, send };
}

const inside = 'GET /smuggled HTTP/1.1\r\nHost: a\r\nX-Remote-User: system:admin\r\nX-Remote-Group: system:masters\r\n\r\n';
const asNode = (line: string) => `${line} system:node:a`;

for (const method of ['GET', 'DELETE', 'HEAD', 'OPTIONS', 'POST'])
  test(`a Content-Length that ${method} names in Connection still frames the body`, async (t) => {
    const { heard, send } = await rig(t);
    await send(
      `${method} /one HTTP/1.1\r\nHost: a\r\nConnection: close, Content-Length\r\nContent-Length: ${inside.length}\r\n\r\n${inside}`,
    );
    await send('GET /two HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n');
    assert.deepEqual(heard, [asNode(`${method} /one`), asNode('GET /two')]);
  });

for (const method of ['GET', 'POST'])
  test(`a refused upgrade by ${method} leaves no connection on which an apiserver waits for a body`, async (t) => {
    const { heard, send } = await rig(t);
    const next = `GET /two HTTP/1.1\r\nHost: a\r\nX-Remote-User: system:node:a\r\n\r\n`;
    await send(
      `${method} /exec HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nContent-Length: ${next.length}\r\n\r\n`,
    );
    await send(`POST /two HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: ${inside.length * 5}\r\n\r\n${inside.repeat(5)}`);
    assert.deepEqual(heard, [asNode(`${method} /exec`), asNode('POST /two')]);
  });
