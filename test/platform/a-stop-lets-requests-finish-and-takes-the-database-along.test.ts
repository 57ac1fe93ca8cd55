import assert from 'node:assert/strict';
import { once } from 'node:events';
import http from 'node:http';
import { connect } from 'node:net';
import { test } from 'node:test';
import { eventually, postgresOf, scratch, serverProcess, withoutSlowness } from '../harness/process.ts';
import { startHere } from './start-here.ts';

/** A POST whose headers the server has taken (it says 100) and whose body is still with us. */
async function underWay(url: string, key: string, name: string) {
  const body = JSON.stringify({ name });
  const request = http.request(`${url}/api/v1/tokens`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', 'content-length': body.length, expect: '100-continue' },
  });
  request.flushHeaders();
  await once(request, 'continue');
  return {
    finish: async () => {
      request.end(body);
      const [answer] = (await once(request, 'response')) as [http.IncomingMessage];
      answer.resume();
      return answer.statusCode;
    },
  };
}

const refusesNew = (url: string) =>
  eventually(async () => {
    const { hostname, port } = new URL(url);
    const socket = connect(Number(port), hostname);
    return once(socket, 'connect').then(
      () => void socket.destroy(),
      () => true,
    );
  });

test('a stop lets requests finish and takes the database along', async (t) => {
  const { dir, dataDir } = await scratch(t, { isMigrated: true });

  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    const server = serverProcess(t, { dir });
    const url = await server.ready;
    const slow = await underWay(url, (await server.owner()).key, signal);
    server.signal(signal);
    server.signal(signal); // a terminal and npm each pass on the same Ctrl-C
    await refusesNew(url);
    assert.ok(await postgresOf(dataDir));
    assert.equal(await slow.finish(), 201);
    assert.deepEqual(await server.exited, { code: 0, signal: null });
    assert.equal(await postgresOf(dataDir), undefined);
    assert.match(withoutSlowness(server.stderr()), new RegExp(`^[^\n]*"signal":"${signal}","msg":"stopping"}\n$`));
  }

  // A signal that comes while it starts stops what has started.
  const early = serverProcess(t, { dir });
  await eventually(() => postgresOf(dataDir));
  early.signal('SIGTERM');
  assert.deepEqual(await early.exited, { code: 0, signal: null });
  assert.equal(await postgresOf(dataDir), undefined);
  assert.equal(early.stdout(), '');

  const last = await startHere(t, { dir });
  const owner = await last.owner();
  const names = (await owner.get('/tokens')).body.tokens.map((x: { name: string }) => x.name);
  assert.deepEqual(names, ['SIGINT', 'SIGTERM', 'this machine']);
});
