import assert from 'node:assert/strict';
import { test } from 'node:test';
import { answering } from '../../sdk/test/servers.ts';
import { quarterdeck } from '../../test/harness/index.ts';
import { cliHere } from './cli-context.ts';

/** A server with one cluster whose phases come one after the other; `lost`: the connection breaks instead. */
async function clusterThatIs(t: Parameters<typeof answering>[0], ...phases: string[]) {
  const cluster = (phase: string) => JSON.stringify({ name: 'dev', tier: 'small', orchestratorVersion: '1.36', replicas: 1, phase });
  const url = await answering(t, (request, response) => {
    const phase =
      request.method === 'GET' && request.url?.endsWith('/clusters/dev') ? (phases.length > 1 ? phases.shift()! : phases[0]!) : 'pending';
    if (phase === 'lost') return void response.destroy();
    if (phase === 'gone') return void response.writeHead(404, { 'content-type': 'application/json' }).end('{"error":"unknown cluster"}');
    response.writeHead(200, { 'content-type': 'application/json' }).end(cluster(phase));
  });
  return cliHere(url, 'qd_pat_test');
}

test('a wait says each change, survives a lost connection and shows what became of it', async (t) => {
  const cli = await clusterThatIs(t, 'provisioning', 'lost', 'lost', 'lost', 'ready');
  const { code, stdout, stderr } = await cli('clusters', 'create', '--name', 'dev', '--tier', 'small', '--wait', '--only', 'phase');
  assert.deepEqual([code, stdout], [0, 'ready\n'], stderr);
  const lines = stderr.trimEnd().split('\n');
  assert.match(lines[0]!, /^cluster dev: provisioning \(0s\)$/);
  assert.match(lines[1]!, /^cluster dev: connection lost, trying again: cannot reach http\S+ .+ \(\d+s\)$/);
  assert.match(lines.at(-1)!, /^cluster dev: ready \(\d+s\)$/);
});

test('what failed, what took too long and a server that stays away end with codes of their own, and say how to go on', async (t) => {
  const look = 'look with: quarterdeck clusters get dev --wait\n';
  const failed = await (await clusterThatIs(t, 'failed'))('clusters', 'get', 'dev', '--wait', '--only', 'phase');
  assert.deepEqual([failed.code, failed.stdout], [27, 'failed\n']);
  assert.match(failed.stderr, /quarterdeck: cluster dev is failed\n$/);

  const slow = await (await clusterThatIs(t, 'updating'))('clusters', 'update', 'dev', '--tier', 'medium', '--wait', '--timeout', '1s');
  assert.equal(slow.code, 28);
  assert.ok(slow.stderr.endsWith(`quarterdeck: not done within 1s; the work goes on; ${look}`), slow.stderr);

  const away = await (await clusterThatIs(t, 'lost'))('clusters', 'update', 'dev', '--tier', 'medium', '--wait', '--timeout', '1s');
  assert.equal(away.code, 25);
  assert.match(
    away.stderr,
    /quarterdeck: given up: cannot reach http.+; the work goes on; look with: quarterdeck clusters get dev --wait\n$/,
  );

  const gone = await (await clusterThatIs(t, 'deleting', 'gone'))('clusters', 'delete', 'dev', '--yes', '--wait');
  assert.deepEqual([gone.code, gone.stderr.trimEnd().split('\n').at(-1)], [0, 'deleted cluster dev']);

  for (const wrong of [
    ['--timeout', '1s'],
    ['--wait', '--timeout', 'soon'],
    ['--wait', '--timeout', '0s'],
  ])
    assert.equal((await (await clusterThatIs(t, 'ready'))('clusters', 'get', 'dev', ...wrong)).code, 2, wrong.join(' '));
});

test('Ctrl-C ends the wait, not the work', async (t) => {
  const cli = await clusterThatIs(t, 'provisioning');
  const before = process.listenerCount('SIGINT');
  const waiting = cli('clusters', 'create', '--name', 'dev', '--tier', 'small', '--wait');
  for (let n = 0; n < 500 && process.listenerCount('SIGINT') === before; n++) await new Promise((resolve) => setTimeout(resolve, 20));
  process.emit('SIGINT');
  const { code, stderr } = await waiting;
  assert.equal(code, 130);
  assert.match(stderr, /quarterdeck: interrupted: the work goes on; look with: quarterdeck clusters get dev --wait\n$/);
  // A parent process passes the same Ctrl-C on: one that is still heard cannot end the process before its last words.
  const heard = process.listeners('SIGINT');
  assert.equal(heard.length, before + 1);
  process.off('SIGINT', heard.at(-1)!);
});

test('a cluster of a real server is waited for, changed and torn down', async (t) => {
  const { url, owner } = await quarterdeck(t);
  const cli = cliHere(url, owner.key);
  const made = await cli('clusters', 'create', '--name', 'real', '--tier', 'small', '--wait', '--timeout', '60s', '--only', 'phase');
  assert.deepEqual([made.code, made.stdout], [0, 'ready\n'], made.stderr);
  const changed = await cli('clusters', 'update', 'real', '--tier', 'medium', '--wait', '--timeout', '60s', '--json');
  assert.deepEqual([JSON.parse(changed.stdout).phase, JSON.parse(changed.stdout).tier], ['ready', 'medium'], changed.stderr);
  assert.equal((await cli('clusters', 'delete', 'real', '--yes', '--wait', '--timeout', '60s')).code, 0);
  assert.equal((await cli('clusters', 'get', 'real')).code, 22);
});
