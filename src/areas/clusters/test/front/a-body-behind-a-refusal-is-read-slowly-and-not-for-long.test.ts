import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import { connect } from 'node:tls';
import { makePeers } from '../../../../kernel/http/peer.ts';
import { makeLog } from '../../../../kernel/log.ts';
import { makeAuthority, makeLeaf, newKey } from '../../engine/issue.ts';
import { makeFront } from '../../planes/front/index.ts';

const ca = { ...makeAuthority('kubernetes', newKey()), commonName: 'kubernetes' };
const serving = makeLeaf(ca, { subject: { commonName: 'kube-apiserver' }, usage: 'server', hosts: ['127.0.0.1'] });
const foreign = makeLeaf(
  { ...makeAuthority('another', newKey()), commonName: 'another' },
  { subject: { commonName: 'a' }, usage: 'client' },
);

test('a refused request whose body does not end is cut off', async (t) => {
  const door = await makeFront(makeLog('silent'), makePeers([])).open({
    id: 'cls_1',
    listen: { host: '127.0.0.1', port: 0 },
    serverName: undefined,
    maxConnections: () => 30,
    maxInflight: () => 4, // one without a login from each address
    keys: { certificate: serving.certificate, key: serving.key, authority: ca.certificate },
    serve: () => {}, // never answers
  });
  t.after(() => door.close());
  const send = async (headers: string, own = {}) => {
    const socket = connect({ host: '127.0.0.1', port: door.port, ca: ca.certificate, ...own }).on('error', () => {});
    t.after(() => socket.destroy());
    socket.write(`POST /api/v1/namespaces HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000000\r\n${headers}\r\n`);
    const [said] = (await once(socket, 'data')) as [Buffer];
    const more = setInterval(() => socket.write('x'.repeat(1_000)), 20);
    socket.once('close', () => clearInterval(more));
    return { status: said.toString().slice(9, 12), closed: once(socket.resume(), 'close') };
  };
  const held = connect({ host: '127.0.0.1', port: door.port, ca: ca.certificate }).on('error', () => {});
  t.after(() => held.destroy());
  held.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
  await once(held, 'secureConnect');
  const refused = [
    await send('', { cert: foreign.certificate, key: foreign.key }),
    await send('Expect: nothing\r\n'),
    await send(''), // one is under way
  ];
  assert.deepEqual(
    refused.map(({ status }) => status),
    ['401', '417', '429'],
  );
  await Promise.all(refused.map(({ closed }) => closed));
});
