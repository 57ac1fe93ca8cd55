import assert from 'node:assert/strict';
import { test } from 'node:test';
import pg from 'pg';
import { quarterdeck } from '../../../../../test/harness/index.ts';
import type { Principal } from '../../../../identity/principal.ts';
import { run } from '../../../../kernel/db/index.ts';
import { withCeilings } from '../../rules/lineage.ts';
import { forgetTokens } from '../../tasks.ts';

test('revoking a token takes as many statements whether it minted one other or hundreds, and each is on record', async (t) => {
  const { owner, app } = await quarterdeck(t);
  const minted = async (count: number) => {
    const { id } = (await owner.post('/tokens', { name: `minter of ${count}` })).body as { id: string };
    await app.db.write(
      (tx) => run(tx)`
        insert into identity.token (org_id, id, user_id, name, start, hash, scope, ceilings, minters, created_at, expires_at)
        select ${owner.orgId}, kernel.new_id('tok'), ${owner.userId}, 'child', 'qd_pat_', sha256((${id} || n)::bytea), '[]', '[]', array[${id}],
               kernel.now(), kernel.now() + interval '1 hour' from generate_series(1, ${count}::int) n`,
    );
    return id;
  };
  const statements = t.mock.method(pg.Client.prototype, 'query');
  const cost = async (id: string) => {
    const before = statements.mock.callCount();
    assert.equal((await owner.delete(`/tokens/${id}`)).status, 204);
    return statements.mock.callCount() - before;
  };
  const [few, many] = [await cost(await minted(1)), await cost(await minted(500))];
  assert.ok(many < few + 50, `${few} statements with one child, ${many} with 500`); // the server's own clocks tick beside it
  const { entries } = (await owner.get('/organization/audit?limit=1000')).body;
  assert.equal(entries.filter((e: { action: string }) => e.action === 'tokens.token.delete').length, 503);
});

test('a token that has been over for 90 days is forgotten, one that ended lately is listed', async (t) => {
  const { owner, perform, clock } = await quarterdeck(t);
  const short = (await owner.post('/tokens', { name: 'short', expiresIn: 60 })).body.id as string;
  const forgotten = async () => {
    await perform(forgetTokens);
    return !(await owner.get('/tokens')).body.tokens.some((x: { id: string }) => x.id === short);
  };
  await clock.advance('89d');
  assert.equal(await forgotten(), false);
  await clock.advance('2d');
  assert.equal(await forgotten(), true);
  assert.equal((await owner.get('/me')).status, 200);
});

test('what bounds a token is kept once, however it is written, and not without end', () => {
  const use = (role: string, ...resourceIds: string[]) => ({ role, resourceIds });
  const narrowedTo = (...scopes: ReturnType<typeof use>[][]) => ({ scopes }) as unknown as Principal;
  assert.equal(withCeilings([[use('a', '1', '2'), use('b')]], narrowedTo([use('b'), use('a', '2', '1'), use('b')])).length, 1);
  const twenty = Array.from({ length: 20 }, (_, n) => [use(`role ${n}`)]);
  assert.equal(withCeilings(twenty, narrowedTo([use('role 7')])).length, 20);
  assert.throws(() => withCeilings(twenty, narrowedTo([use('another')])), /narrowed in 20 different ways/);
});
