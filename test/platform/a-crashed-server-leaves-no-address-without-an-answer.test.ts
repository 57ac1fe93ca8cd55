import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { freePort } from '../harness/free-port.ts';
import { eventually, scratch } from '../harness/process.ts';
import { childrenOf, startParent } from './a-parent.ts';

const isServing = async (port: number) =>
  (await fetch(`http://127.0.0.1:${port}/readyz`, { signal: AbortSignal.timeout(2_000) })).status === 200;

const killServerOf = async (pid: number) => process.kill((await childrenOf(pid))[0]!, 'SIGKILL');

test('a server for trying that crashed is back at the address that it told', async (t) => {
  const { dir } = await scratch(t);
  const left = undefined as never; // a port that is set is not chosen
  const parent = startParent(t, dir, {
    args: ['serve', '--try'],
    env: {
      QUARTERDECK_LISTEN: left,
      QUARTERDECK_SMTP_SUBMISSION: left,
      QUARTERDECK_SMTPS: left,
      QUARTERDECK_SMTP_INBOUND: left,
      QUARTERDECK_DNS_SERVERS: left,
    },
  });
  const [, port] = await parent.hears(/is ready at http:\/\/127\.0\.0\.1:(\d+)/);
  await eventually(() => isServing(Number(port)), { withinMs: 60_000 });
  await killServerOf(parent.pid);
  await parent.hears(/starting it again/);
  await eventually(() => isServing(Number(port)), { withinMs: 60_000 });
});

test('an address that a restarted server does not take any more is closed', async (t) => {
  const { dir } = await scratch(t, { isMigrated: true });
  const [before, after] = [await freePort(), await freePort()];
  const listenAt = (port: number) => writeFile(join(dir, 'quarterdeck.toml'), `listen = "127.0.0.1:${port}"\n`);
  await listenAt(before);
  const parent = startParent(t, dir, { env: { QUARTERDECK_LISTEN: undefined as never } });
  await eventually(() => isServing(before), { withinMs: 60_000 });
  await listenAt(after);
  await killServerOf(parent.pid);
  await eventually(() => isServing(after), { withinMs: 60_000 });
  const refusal = () =>
    isServing(before).then(
      () => assert.fail('it is served'),
      ({ cause, name }) => cause?.code ?? name,
    );
  await eventually(async () => (await refusal()) === 'ECONNREFUSED', { withinMs: 30_000 });
});
