import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { eventually } from '../../../../test/harness/process.ts';
import { proberProgram } from '../../../protocols/prober-settings.ts';
import { bufferDir, fakeServer, type ProberProcess, proberProcess, processOf } from './server.ts';

const main = join(import.meta.dirname, '..', '..', '..', 'main.ts');

test('probe becomes a prober, of the token in the environment, and ends with 0 when asked', async (t) => {
  const dir = await bufferDir(t);
  const server = await fakeServer(t);
  const { child, exited, log } = processOf(t, [main, 'probe', '--server', `${server.url}/`, '--data', join(dir, 'p')], {
    QUARTERDECK_PROBE_TOKEN: 'qd_agent_secret',
  });
  await eventually(async () => server.sessions.length === 1);
  assert.equal(server.sessions[0]!.token, 'Bearer qd_agent_secret');
  child.kill('SIGTERM');
  assert.equal(await exited, 0);
  assert.ok(!log().includes('secret'), log());
});

test('a token that is refused is told in a sentence, and tried again later', async (t) => {
  const dir = await bufferDir(t);
  const server = await fakeServer(t);
  server.mood = 401;
  const { child, exited, log } = processOf(t, [main, 'probe', '--server', server.url, '--token', 'wrong', '--data', dir], {});
  await eventually(async () => /refuses this prober’s token; make another with `quarterdeck admin agents`/.test(log()));
  assert.equal(server.sessions.length, 0);
  child.kill('SIGTERM');
  assert.equal(await exited, 0);
});

test('what is missing or wrong is told before anything runs', async (t) => {
  const dir = await bufferDir(t);
  await writeFile(join(dir, 'file'), '');
  const asked = async ({ exited, log }: ProberProcess, code: number, says: RegExp) => {
    assert.equal(await exited, code, log());
    assert.match(log(), says);
    assert.ok(!/\n {4}at /.test(log()), 'no stack');
  };
  const probe = (...args: string[]) => processOf(t, [main, 'probe', ...args], { QUARTERDECK_DATA: dir });
  const prober = (settings: object) => proberProcess(t, { server: 'https://q.example', token: 't', bufferDir: dir, ...settings });
  await asked(probe('--token', 't'), 2, /name the server with --server/);
  await asked(probe('--server', 'https://q.example'), 2, /QUARTERDECK_PROBE_TOKEN/);
  await asked(probe('--help'), 0, /QUARTERDECK_PROBE_TOKEN[\s\S]*24 hours[\s\S]*exit code 0/);
  await asked(prober({ server: 'q.example' }), 2, /is not the URL of a server/);
  await asked(prober({ canaries: ['nowhere'] }), 9, /canary "nowhere" is not host:port/);
  await asked(prober({ allowPrivateCidrs: '10.0.0.1/8' }), 9, /QUARTERDECK_ALLOW_PRIVATE_CIDRS/);
  await asked(prober({ bufferDir: join(dir, 'file', 'below') }), 5, /cannot be made/);
  await asked(processOf(t, [proberProgram], {}), 2, /is started by `quarterdeck serve` and `quarterdeck probe`/);
});
