import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { answering } from '../../sdk/test/servers.ts';
import { makeCertificate } from '../../src/kernel/x509/certificate.ts';
import { joined } from '../perform.ts';
import { listNamespaces } from '../try/cluster.ts';
import { runHere } from './cli-context.ts';

// A server that is compromised answers whatever it likes. Nothing of it becomes a command, an escape sequence or an endless wait.

const steering = '\u001b]0;owned\u0007\u009b31m';
const controls = /[^\P{Cc}\n\t]/u;

test('a hostile server steers neither terminal nor shell', async (t) => {
  const answers = new Map<string, unknown>();
  const url = await answering(t, (request, response) => {
    const path = new URL(request.url!, 'http://x').pathname;
    const answer = answers.get(path);
    response
      .writeHead(answer === undefined ? 500 : 200, { 'content-type': 'application/json' })
      .end(JSON.stringify(answer ?? { error: `broken ${steering}` }));
  });
  const cli = (...args: string[]) =>
    runHere(args, { env: { QUARTERDECK_URL: url, QUARTERDECK_TOKEN: 'qd_pat_x', XDG_STATE_HOME: '/dev/null' } });
  const requireHarmless = ({ stdout, stderr }: { stdout: string; stderr: string }) => {
    assert.doesNotMatch(stdout, controls);
    assert.doesNotMatch(stderr, controls);
  };

  await t.test('completion offers no id that a shell would carry out', async () => {
    const ids = ['$(reboot)', 'svc_1;reboot', 'svc_\u001b[2J', 'two\nlines', '-rf', '`x`', 'svc_GOOD'];
    answers.set('/api/v1/uptime/services', { services: ids.map((id) => ({ id, name: '$(x)' })) });
    assert.deepEqual((await cli('__complete', 'uptime', 'services', 'rename', '')).stdout, 'svc_GOOD\n');
  });

  await t.test('completion ends after a second, however many questions it has', async () => {
    let asked = 0;
    const slow = await answering(t, (_, response) => {
      asked++;
      const answer = JSON.stringify({ schedules: [], cursor: `next ${asked}` });
      setTimeout(() => response.writeHead(200, { 'content-type': 'application/json' }).end(answer), 700).unref();
    });
    const typed = ['oncall', 'schedules', 'calendar-links', 'revoke', 'primary', ''];
    await runHere(['__complete', ...typed], { env: { QUARTERDECK_URL: slow, QUARTERDECK_TOKEN: 'qd_pat_x' } });
    const atTheEnd = asked;
    await new Promise((resolve) => setTimeout(resolve, 1_500));
    assert.equal(asked, atTheEnd, 'nothing is asked after the end');
  });

  await t.test('a secret that was made is shown, though the server answers nothing else', { timeout: 20_000 }, async () => {
    const silent = await answering(t, (request, response) => {
      const made = JSON.stringify({ id: 'tok_1', name: 'x', key: 'qd_pat_once' });
      if (request.method === 'POST') response.writeHead(201, { 'content-type': 'application/json' }).end(made);
    });
    const args = ['tokens', 'create', '--name', 'x', '--only', 'key'];
    const made = await runHere(args, { env: { QUARTERDECK_URL: silent, QUARTERDECK_TOKEN: 'qd_pat_x', XDG_STATE_HOME: '/dev/null' } });
    assert.equal(made.stdout, 'qd_pat_once\n');
  });

  await t.test('a cluster that answers a byte at a time is given up', { timeout: 20_000 }, async () => {
    const { cert, key } = makeCertificate('127.0.0.1');
    const dripping = createServer({ cert, key }, (_, response) => {
      response.writeHead(200);
      const drip = setInterval(() => response.write(' '), 20);
      response.on('close', () => clearInterval(drip));
    }).listen(0, '127.0.0.1');
    await once(dripping, 'listening');
    t.after(() => dripping.close());
    const server = `https://127.0.0.1:${(dripping.address() as AddressInfo).port}`;
    await assert.rejects(listNamespaces({ server, ca: Buffer.from(cert), token: 'x' }, 500), {
      message: /not within 0\.5 s/,
      exitCode: 25,
    });
  });

  await t.test('what several things could be is listed without escape sequences', async () => {
    const twins = [1, 2].map((n) => ({ id: `tok_${steering}${n}`, name: 'twin' }));
    answers.set('/api/v1/tokens', { tokens: twins });
    const told = await cli('tokens', 'update', 'twin', '--name', 'x');
    assert.equal(told.code, 2);
    requireHarmless(told);
  });

  await t.test('a list that never ends', { timeout: 20_000 }, async () => {
    answers.set('/api/v1/tokens', { tokens: [], cursor: 'again' });
    const circle = await cli('tokens', 'list', '--all');
    assert.equal(circle.code, 25, circle.stderr);
    assert.match(circle.stderr, /gives the same cursor twice, so this list would never end/);
    let asked = 0;
    const endless = async function* () {
      for (;;) yield { tokens: [], cursor: `c${asked++}` };
    };
    await assert.rejects(joined(endless(), { columns: { tokens: [] } }, 5), /the list has more than 5 slices, and --all takes no more/);
    assert.equal(asked, 5);
  });

  await t.test('the report of where one is', async () => {
    answers.set('/api/v1/me', { id: 'usr_1', email: steering, name: 'x', organizations: [{ slug: steering, role: steering }] });
    answers.set('/api/v1/installation', {
      version: steering,
      servers: [{ version: `${steering}\nok   forged`, roles: [steering] }],
      database: { kind: steering, version: steering },
      disk: 'ok',
      held: false,
    });
    answers.set('/api/v1/clusters', { clusters: [{ name: 'c', phase: steering }] });
    const told = await cli('status');
    requireHarmless(told);
    assert.doesNotMatch(told.stdout, /^ok {3}forged/m);
    requireHarmless(await cli('version'));
  });

  await t.test('an address that is none, and one with more than an address in it', async () => {
    const open = async (address: string) => {
      answers.set('/api/v1/status-pages', { pages: [{ slug: 'x', url: address }] });
      return cli('open', 'status');
    };
    for (const address of ['', 'nonsense', 'file:///etc/passwd', 'javascript:alert(1)', '-x']) {
      const told = await open(address);
      assert.equal(told.code, 25, address);
      assert.equal(told.stdout, '');
    }
    const told = await open(` https://status.example/${steering}\u0000'$(x)"`);
    assert.equal(told.code, 0);
    requireHarmless(told);
    assert.match(told.stdout, /^https:\/\/status\.example\/\S+\n$/);
  });
});
