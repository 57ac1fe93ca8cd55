import assert from 'node:assert/strict';
import { globSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { type Rights, whyNot } from '../../console/data/why-not.ts';
import type { Screen } from '../../console/shell/screen.ts';
import { contract } from '../../contract/index.ts';
import { builtinRoles } from '../../contract/permissions.ts';
import { readCommands } from '../../sdk/commands.ts';
import { type Guard, refusalCode } from '../../sdk/guards.ts';
import { quarterdeck, type Someone } from '../harness/index.ts';

// QUARTERDECK_UPDATE=1 rewrites the committed table.

const root = join(import.meta.dirname, '../..');
const guards: Record<string, Guard> = JSON.parse(await readFile(join(root, 'sdk/generated/guards.json'), 'utf8'));

async function readScreens(): Promise<Screen[]> {
  const files = globSync('console/areas/*/screens.ts', { cwd: root }).sort();
  const lists = await Promise.all(files.map((file) => import(join(root, file)) as Promise<{ screens: Screen[] }>));
  return lists.flatMap(({ screens }) => screens);
}

test('each screen and role is in the committed table, with the words that a role reads instead', async (t) => {
  const qd = await quarterdeck(t);
  const screens = await readScreens();
  const rights = await rightsByRole(qd);
  // What a page says beforehand is what the server's guards would say.
  for (const [role, held] of rights)
    for (const [id, guard] of Object.entries(guards)) {
      const code = refusalCode(guard, { ...held, narrowed: false, session: true, fresh: true });
      assert.equal(whyNot(held, guard) !== undefined, guard.foreign === true || code !== undefined, `${role}: ${id}`);
    }
  const now = `${screens.map((screen) => describe(screen, rights)).join('\n\n')}\n`;
  const file = join(root, 'test/console/screens.txt');
  if (process.env.QUARTERDECK_UPDATE) await writeFile(file, now);
  const committed = await readFile(file, 'utf8').catch(() => '');
  assert.ok(committed === now, 'test/console/screens.txt says otherwise: run this test with QUARTERDECK_UPDATE=1, and read what changed');
});

test('every operation is reached by a screen or by the action menu, and one that a session cannot do says so', async () => {
  const screens = await readScreens();
  const offered = new Set(readCommands().commands.map(({ operation }) => operation));
  const known = new Set(contract.map(({ id }) => id));
  for (const { path, operations, main } of screens)
    for (const id of [...operations, ...(main ? [main] : [])]) assert.ok(known.has(id), `${path} names ${id}, which is no operation`);
  for (const { id, permission, credential } of contract) {
    assert.ok(offered.has(id), `${id} is in no menu`);
    assert.ok(guards[id], `${id} has no guard in the table that pages ask`);
    if (permission === 'none' || credential) assert.match(whyNot(undefined, guards[id]) ?? '', /a key of its own|^$/, id);
  }
  const paths = screens.map(({ path }) => path);
  assert.deepEqual(paths, [...new Set(paths)], 'two screens have one path');
});

async function rightsByRole({ owner, member, narrowed }: Awaited<ReturnType<typeof quarterdeck>>): Promise<Map<string, Rights>> {
  const ask = async (who: Someone) => (await who.get('/me/rights')).body as Rights;
  const found = new Map<string, Rights>([
    ['owner', await ask(owner)],
    ['admin', await ask(await member(owner, 'admin'))],
    ['member', await ask(await member(owner, 'member'))],
  ]);
  for (const { id, service } of builtinRoles)
    if (service) {
      found.set(id, await ask(await narrowed(owner, [{ role: id }])));
      if (id.endsWith('.editor')) found.set(`${id}-of-one`, await ask(await narrowed(owner, [{ role: id, resourceIds: ['one'] }])));
    }
  return found;
}

/** Roles with the same outcome share a line. */
function describe({ path, title, area, main, operations, listed }: Screen, rights: ReadonlyMap<string, Rights>): string {
  const outcomes = Map.groupBy(rights, ([, held]) => {
    const refusal = main ? whyNot(held, guards[main]) : undefined;
    if (refusal) return `refused: ${refusal}`;
    const without = operations.filter((id) => whyNot(held, guards[id]));
    return without.length ? `without ${without.join(', ')}` : 'everything';
  });
  const lines = [...outcomes].map(
    ([outcome, roles]) => `  ${roles.length === rights.size ? 'every role' : roles.map(([role]) => role).join(' ')}: ${outcome}`,
  );
  return [`${path}  ${title} (${area}${listed ? ', listed' : ''})`, ...lines].join('\n');
}
