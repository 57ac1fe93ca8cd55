import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { Command } from 'commander';
import { eventually } from '../../../../test/harness/process.ts';
import { registerProbe } from '../../../commands/probe.ts';
import { Stop } from '../../../kernel/errors.ts';
import { parseAllow } from '../../../kernel/guard/index.ts';
import { holdDirectory } from '../delivery/instance.ts';
import { openLink } from '../delivery/link.ts';
import { readSettings } from '../settings.ts';
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
  await asked(processOf(t, [main, 'probe', '--server', 'https://q.example'], { QUARTERDECK_DATA: dir }), 2, /QUARTERDECK_PROBE_TOKEN/);
  const prober = (settings: object) => proberProcess(t, { server: 'https://q.example', token: 't', bufferDir: dir, ...settings });
  await asked(prober({ canaries: ['nowhere'] }), 9, /canary "nowhere" is not host:port/);

  // The others come from the same two programs by the same ways: the sentence and the exit code, without a process for each.
  const refused = (act: () => unknown, code: number, says: RegExp) =>
    assert.rejects(
      async () => act(),
      (error) => error instanceof Stop && error.exitCode === code && says.test(error.message),
    );
  let printed = '';
  const run = (...args: string[]) => {
    const program = new Command('quarterdeck').exitOverride().configureOutput({ writeOut: (text) => (printed += text) });
    registerProbe(program);
    return program.parseAsync(['probe', ...args], { from: 'user' });
  };
  await refused(() => run('--token', 't'), 2, /name the server with --server/);
  await assert.rejects(run('--help'), { exitCode: 0 });
  assert.match(printed, /QUARTERDECK_PROBE_TOKEN[\s\S]*24 hours[\s\S]*exit code 0/);
  await refused(() => openLink({ server: 'q.example', token: 't' }), 2, /is not the URL of a server/);
  await refused(() => parseAllow('10.0.0.1/8'), 9, /QUARTERDECK_ALLOW_PRIVATE_CIDRS/);
  await refused(() => holdDirectory(join(dir, 'file', 'below')), 5, /cannot be made/);
  await refused(() => readSettings({}), 2, /is started by `quarterdeck serve` and `quarterdeck probe`/);
});
