import assert from 'node:assert/strict';
import { test } from 'node:test';
import { answering } from '../../sdk/test/servers.ts';
import { runHere } from './cli-context.ts';

test('a name that is not certain acts on nothing', async (t) => {
  const changes: string[] = [];
  const lists = new Map<string, (page: string | null) => unknown>();
  const url = await answering(t, (request, response) => {
    const { pathname, searchParams } = new URL(request.url!, 'http://x');
    if (request.method !== 'GET') changes.push(`${request.method} ${pathname}`);
    const answer = lists.get(pathname)?.(searchParams.get('cursor')) ?? {};
    response.writeHead(request.method === 'DELETE' ? 204 : 200, { 'content-type': 'application/json' });
    response.end(request.method === 'DELETE' ? undefined : JSON.stringify(answer));
  });
  const cli = async (...args: string[]) => {
    changes.length = 0;
    return runHere(args, { env: { QUARTERDECK_URL: url, QUARTERDECK_TOKEN: 'qd_pat_x', XDG_STATE_HOME: '/dev/null' } });
  };

  await t.test('a member who calls themselves by the address of another', async () => {
    const members = [
      { userId: 'usr_01ARZ3NDEKTSV4RRFFQ69G5FAV', email: 'mallory@example.com', name: 'bob@example.com' },
      { userId: 'usr_01ARZ3NDEKTSV4RRFFQ69G5FAW', email: 'alice@example.com', name: 'Alice' },
    ];
    lists.set('/api/v1/organization/members', () => ({ members }));
    const granted = await cli('iam', 'grants', 'create', '--subject', 'bob@example.com', '--role', 'admin');
    assert.deepEqual([granted.code, changes], [22, []], granted.stderr);
    members.push({ userId: 'usr_01ARZ3NDEKTSV4RRFFQ69G5FAX', email: 'bob@example.com', name: 'Bob' });
    assert.equal((await cli('organization', 'members', 'remove', 'bob@example.com')).code, 0);
    assert.deepEqual(changes, ['DELETE /api/v1/organization/members/usr_01ARZ3NDEKTSV4RRFFQ69G5FAX']);
    assert.equal((await cli('organization', 'members', 'remove', 'Alice')).code, 0);
    assert.deepEqual(changes, ['DELETE /api/v1/organization/members/usr_01ARZ3NDEKTSV4RRFFQ69G5FAW']);
  });

  await t.test('a name that was found once in the part of a list that is read', async () => {
    const page = (n: number) => ({
      monitors: [{ id: `mon_01ARZ3NDEKTSV4RRFFQ69G5FA${n}`, name: n === 0 ? 'shop' : 'other' }],
      cursor: String(n + 1),
    });
    lists.set('/api/v1/uptime/monitors', (cursor) => page(Number(cursor ?? 0)));
    const { code, stderr } = await cli('uptime', 'monitors', 'delete', 'shop');
    assert.deepEqual([code, changes], [2, []]);
    assert.match(stderr, /too many monitors to look for "shop": give the id\n$/);
  });
});
