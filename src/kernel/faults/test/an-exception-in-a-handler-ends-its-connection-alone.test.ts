import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, request as httpRequest, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { quarterdeck } from '../../../../test/harness/index.ts';
import { checkFaults, judgeFaults } from '../../../admin/doctor/faults.ts';
import { guarded } from '../guarded.ts';
import { readFaults } from '../record.ts';

test('an exception in a handler ends its own connection, and the operator hears of it', async (t) => {
  const { dataDir, url } = await quarterdeck(t, { env: { QUARTERDECK_METRICS_TOKEN: 'numbers-for-the-operator-alone' } });
  assert.deepEqual(
    checkFaults(dataDir).map(({ verdict }) => verdict),
    ['ok'],
  );

  const answer = async (request: IncomingMessage, response: ServerResponse) => {
    if (request.url === '/later') await Promise.resolve();
    if (request.url !== '/') throw new Error(`deliberate, at ${request.url}`);
    response.end('fine');
  };
  const server = createServer(guarded('test.request', ([{ socket }]) => socket, answer));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  const ask = async (path: string) => {
    const asked = httpRequest({ host: '127.0.0.1', port: (server.address() as AddressInfo).port, path, agent: false }).end();
    const [response] = (await once(asked, 'response')) as [IncomingMessage];
    return response.resume().statusCode;
  };

  await assert.rejects(ask('/now'), { code: 'ECONNRESET' });
  await assert.rejects(ask('/later'), { code: 'ECONNRESET' });
  assert.equal(await ask('/'), 200, 'the listener goes on');

  // Both are counted; within a second one line is written.
  const written = readFaults(dataDir);
  assert.deepEqual(
    written.map(({ kind, name, message }) => [kind, name, message]),
    [['handler', 'test.request', 'deliberate, at /now']],
  );
  const numbers = await fetch(`${url}/metrics`, { headers: { authorization: 'Bearer numbers-for-the-operator-alone' } });
  assert.match(await numbers.text(), /quarterdeck_faults_total\{kind="handler",handler="test\.request"\} 2/);
  const [finding] = checkFaults(dataDir);
  assert.equal(finding!.verdict, 'warn');
  assert.match(
    finding!.says,
    /one exception in 7 days ended the connection that caused it, in test\.request, last at .*deliberate, at \/now/,
  );
});

test('the doctor tells of a server that ended, for a week', () => {
  const at = (day: number) => new Date(Date.UTC(2026, 0, day)).toISOString();
  const ended = { at: at(10), kind: 'uncaught' as const, name: 'uncaughtException', message: 'x is not a function' };
  const [told] = judgeFaults([{ ...ended, at: at(1) }, ended], Date.UTC(2026, 0, 12));
  assert.equal(told!.verdict, 'warn');
  assert.match(
    told!.says,
    /^the server crashed once in 7 days by an exception, last at 2026-01-10T.*: x is not a function; look in its log/,
  );
  assert.equal(judgeFaults([ended], Date.UTC(2026, 0, 18))[0]!.verdict, 'ok');

  // A signal is no exception, and is called by its name.
  const by = (how: string) => ({ at: at(10), kind: 'uncaught' as const, name: 'signal', message: `the server was ended by ${how}` });
  const says = (...some: (typeof ended)[]) => judgeFaults(some, Date.UTC(2026, 0, 12))[0]!.says;
  assert.match(says(by('SIGKILL')), /^the server crashed once in 7 days by SIGKILL, last at 2026-01-10T[^;]*Z; look .*who ended it$/);
  assert.match(says(by('SIGKILL, for want of memory')), /by SIGKILL, for want of memory, last at .*; give it more memory; look in its log/);
  assert.match(
    says(ended, by('SIGKILL'), by('SIGKILL')),
    /^the server crashed 3 times in 7 days \(once by an exception; 2 times by SIGKILL\), last at [^;]*Z; look in its log, and report it$/,
  );
});
