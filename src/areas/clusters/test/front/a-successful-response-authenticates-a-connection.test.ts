import assert from 'node:assert/strict';
import type { ClientRequest } from 'node:http';
import { Agent, request as httpsRequest } from 'node:https';
import { test } from 'node:test';
import { makePeers } from '../../../../kernel/http/peer.ts';
import { makeLog } from '../../../../kernel/log.ts';
import { makeAuthority, makeLeaf, newKey } from '../../engine/issue.ts';
import { makeFront } from '../../planes/front/index.ts';

const ca = { ...makeAuthority('kubernetes', newKey()), commonName: 'kubernetes' };
const serving = makeLeaf(ca, { subject: { commonName: 'kube-apiserver' }, usage: 'server', hosts: ['127.0.0.1'] });
const node = makeLeaf(ca, { subject: { commonName: 'system:node:a', organizations: ['system:nodes'] }, usage: 'client' });

test('a connection is authenticated once a response proves its token, and no longer after 401', async (t) => {
  const known: boolean[] = [];
  const door = await makeFront(makeLog('silent'), makePeers([])).open({
    id: 'cls_1',
    listen: { host: '127.0.0.1', port: 0 },
    serverName: undefined,
    maxConnections: () => 30,
    maxInflight: () => 30,
    keys: { certificate: serving.certificate, key: serving.key, authority: ca.certificate },
    serve: (request, response, { isAuthenticated }) => {
      known.push(isAuthenticated);
      response.writeHead(Number(/\d+$/.exec(request.url!)?.[0] ?? 200)).end();
    },
  });
  t.after(() => door.close());
  /** Whether each of these requests, on one connection, came from somebody who was known. */
  const askEach = async (
    own: { cert?: string; key?: string; method?: string; path?: string },
    ...asked: (readonly [status: number, authorization?: string])[]
  ) => {
    known.length = 0;
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    for (const [status, authorization] of asked)
      await new Promise<void>((resolve, reject) => {
        const headers = authorization === undefined ? {} : { authorization };
        const options = { host: '127.0.0.1', port: door.port, path: `/${status}`, agent, ca: ca.certificate, ...own, headers };
        httpsRequest(options, (answer) => answer.resume().once('end', resolve))
          .once('error', reject)
          .end();
      });
    agent.destroy();
    return [...known];
  };

  assert.deepEqual(await askEach({}, [200, 'Bearer x'], [200], [401, 'Bearer x'], [200], [404, 'Bearer x'], [200]), [
    false,
    true,
    true,
    false,
    false,
    true,
  ]);
  // Neither what a server takes for anonymous, nor what may be said before the token is looked at.
  for (const authorization of [undefined, 'Bearer', 'Bearer  x', 'Bearer x y', 'Basic eDp4'])
    assert.deepEqual(await askEach({}, [200, authorization], [200]), [false, false], String(authorization));
  for (const status of [400, 403, 429, 503]) assert.deepEqual(await askEach({}, [status, 'Bearer x'], [200]), [false, false], `${status}`);
  for (const unread of [{ method: 'OPTIONS' }, { method: 'OPTIONS', path: '*' }, { path: 'https://127.0.0.1/200' }])
    assert.deepEqual(await askEach(unread, [200, 'Bearer x'], [200]), [false, false], JSON.stringify(unread));
  const own = { cert: node.certificate, key: node.key };
  assert.deepEqual(await askEach(own, [403], [401], [200], [200]), [true, true, false, true], 'a refused certificate');
});

test('watches of authenticated callers leave room for new connections of the same address', async (t) => {
  const door = await makeFront(makeLog('silent'), makePeers([])).open({
    id: 'cls_1',
    listen: { host: '127.0.0.1', port: 0 },
    serverName: undefined,
    maxConnections: () => 100,
    maxInflight: () => 8, // an address may have two requests under way before it is authenticated
    keys: { certificate: serving.certificate, key: serving.key, authority: ca.certificate },
    serve: (_request, response) => {
      response.writeHead(200);
      response.flushHeaders(); // a watch: nothing more for now
    },
  });
  const watches: ClientRequest[] = [];
  t.after(async () => {
    for (const watch of watches) watch.destroy();
    await door.close();
  });
  const watch = (headers: Record<string, string>) =>
    new Promise<number>((resolve, reject) => {
      const asked = httpsRequest({ host: '127.0.0.1', port: door.port, agent: false, ca: ca.certificate, headers }, (answer) => {
        answer.resume();
        resolve(answer.statusCode!);
      });
      watches.push(asked.on('error', reject));
      asked.end();
    });
  for (let n = 0; n < 12; n++) assert.equal(await watch({ authorization: 'Bearer x' }), 200, `watch ${n}`);
  // Without a token a request keeps its place for as long as it lasts.
  const anonymous: number[] = [];
  for (let n = 0; n < 3; n++) anonymous.push(await watch({}));
  assert.deepEqual(anonymous, [200, 200, 429]);
});
