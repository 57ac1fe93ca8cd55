import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import {
  balancedEnv,
  balancerPrograms,
  makeNode,
  makeService,
  nodeAddress,
  nodeServer,
  poolOf,
  talk,
  untilAddress,
} from '../../src/areas/clusters/test/balancer/support.ts';
import { clustersAlone, fakeBinaries, programsIn } from '../../src/areas/clusters/test/process/support.ts';
import { adminOf, readyCluster, untilReady } from '../../src/areas/clusters/test/support.ts';
import { freePort } from '../harness/free-port.ts';
import { caller } from '../harness/index.ts';
import { eventually, scratch } from '../harness/process.ts';
import { childrenOf, quarterdeckCommand, startParent } from './a-parent.ts';
import { runLoad } from './reload-load.ts';

const [port, nodePort] = [8_150, 30_150];

/** A server is started four times, with its own PostgreSQL and programs. */
const timeout = 360_000;

test('connections to a load balancer wait while its program, or its server, is killed or replaced: none is refused', {
  timeout,
}, async (t) => {
  const { dir, dataDir } = await scratch(t, { isMigrated: true });
  const url = `http://127.0.0.1:${await freePort()}`;
  const env = { ...(await clustersAlone(await fakeBinaries(t))), ...balancedEnv, QUARTERDECK_LISTEN: new URL(url).host };
  const parent = startParent(t, dir, { env });
  try {
    await parent.hears(/is ready at/);
    const owner = caller(url, (await readFile(join(dataDir, 'owner.token'), 'utf8')).trim());
    const added = await quarterdeckCommand(dir, ['admin', 'clusters', 'addresses', 'add', poolOf(29, 96), '--loopback']);
    assert.equal(added.code, 0, added.said);
    await readyCluster(owner, { name: 'prod', managedLoadBalancers: { enabled: true } });
    const way = await adminOf(owner, 'prod');
    await nodeServer(t, nodeAddress(20), nodePort);
    await makeNode(way, 'one', nodeAddress(20));
    await makeService(way, 'web', { ports: [{ port, nodePort }] });
    const address = await untilAddress(way, 'web');
    assert.match(await talk(address, port), /hello$/);

    // Open connections of what is killed are cut; whoever connects from then on is served.
    const cut = new Set(['ECONNRESET', 'EPIPE']);
    const load = runLoad({
      connections: async (n) => {
        const said = await talk(address, port, `connection ${n}`).catch((error) => {
          if (cut.has(error.code)) return 'cut';
          throw error;
        });
        return said;
      },
    });
    const goesOn = async (what: string) => {
      await load.progress(5);
      assert.deepEqual(load.tally.failures, [], what);
    };
    const programOf = async () => (await balancerPrograms((await childrenOf(parent.pid))[0]!))[0];
    await goesOn('at first');
    const program = (await programOf()) ?? assert.fail('the balancer program runs below its server');
    process.kill(program, 'SIGKILL');
    await goesOn('the program was killed');
    assert.notEqual(await programOf(), program);

    const reloaded = await quarterdeckCommand(dir, ['admin', 'reload']);
    assert.equal(reloaded.code, 0, reloaded.said);
    await goesOn('the server was replaced');

    const [server] = await childrenOf(parent.pid);
    process.kill(server!, 'SIGKILL');
    await eventually(async () => (await childrenOf(parent.pid)).some((pid) => pid !== server), { withinMs: 60_000 });
    await untilReady(owner, 'prod');
    await goesOn('the server was killed');

    const { done, failures } = await load.end();
    assert.deepEqual(failures, []);
    const wasCut = done.get('connections')!.filter((said) => said === 'cut').length;
    t.diagnostic(`${done.get('connections')!.length - wasCut} connections were served, ${wasCut} were cut by the kills`);
    process.kill(parent.pid, 'SIGTERM');
    assert.deepEqual(await parent.ended, [0, null]);
    await assert.rejects(talk(address, port), /ECONNREFUSED/);
  } finally {
    for (const pid of await programsIn(dataDir)) process.kill(pid, 'SIGKILL');
  }
});
