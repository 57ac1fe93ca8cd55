import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { answering } from '../../../../sdk/test/servers.ts';
import { eventually } from '../../../../test/harness/process.ts';
import { bufferDir, processOf } from './server.ts';

const main = join(import.meta.dirname, '..', '..', '..', 'main.ts');

test('a redirect takes a prober and its token nowhere else', async (t) => {
  const [asked, elsewhere]: (string | undefined)[][] = [[], []];
  const other = await answering(t, (request, response) => {
    elsewhere!.push(request.headers.authorization);
    response.end('{}');
  });
  const server = await answering(t, (request, response) => {
    asked!.push(request.headers.authorization);
    response.writeHead(308, { location: `${other}${request.url}` }).end();
  });
  const { child, exited, log } = processOf(t, [main, 'probe', '--server', server, '--data', await bufferDir(t)], {
    QUARTERDECK_PROBE_TOKEN: 'qd_agent_hunter2',
    QUARTERDECK_TOKEN: 'qd_pat_hunter2',
    QUARTERDECK_URL: other,
  });
  await eventually(async () => asked!.length > 1);
  child.kill('SIGTERM');
  assert.equal(await exited, 0);
  assert.deepEqual([...new Set(asked)], ['Bearer qd_agent_hunter2']);
  assert.deepEqual(elsewhere, []);
  assert.ok(!log().includes('hunter2'), log());
});
