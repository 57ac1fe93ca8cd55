import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import type { TestContext } from 'node:test';
import { pathParams } from '../../contract/common.ts';
import { computeMatrix, plansOf, type Row } from './matrix.ts';
import { quarterdeckOutside } from './outside.ts';
import { servedAreas } from './recipes/index.ts';
import { render } from './render.ts';
import { makeWorld, type World } from './world.ts';

// QUARTERDECK_UPDATE=1 rewrites the committed files; QUARTERDECK_AREA=registry computes one area alone.
const update = process.env.QUARTERDECK_UPDATE;
const only = process.env.QUARTERDECK_AREA;

/** Holds the operations of these areas against the committed files. Two test files share them: together they take more than one may. */
export async function answersAsCommitted(t: TestContext, isAsked: (area: string) => boolean): Promise<void> {
  const world = await makeWorld(await quarterdeckOutside(t));
  for (const area of servedAreas().filter(({ name }) => isAsked(name) && (!only || name === only))) {
    await t.test(area.name, async (t) => {
      const rows = await computeMatrix(world, area.operations().flatMap(plansOf));
      await t.test('no caller reads a word of another organization', () => refuseLeaks(world, rows));
      await t.test("the unknown and another organization's look the same", () => refuseTells(rows));
      await t.test('strangers are refused', () => refuseStrangers(rows));
      await t.test('a session may what a token of its person may, and what is marked asks for one', () => compareSessions(rows));
      await compare(area.name, render(rows));
    });
  }
}

async function compare(area: string, now: string) {
  const file = new URL(`./authorization/${area}.txt`, import.meta.url);
  if (update) await writeFile(file, now);
  const committed = await readFile(file, 'utf8').catch(() => '');
  const before = new Set(committed.split('\n'));
  const changed = now.split('\n').filter((line) => !before.has(line));
  assert.ok(
    committed === now,
    `test/matrix/authorization/${area}.txt says otherwise. If the change is meant, run again with QUARTERDECK_UPDATE=1, read what changed, and commit it. Now:\n${changed.join('\n') || '(lines are gone)'}`,
  );
}

/** Every good answer, searched for what belongs to organizations that its caller is no part of. */
function refuseLeaks({ orgOf, secretsOf }: World, rows: Row[]) {
  for (const { spec, what, cells } of rows) {
    for (const { subject, answer } of cells) {
      if (answer.status >= 300) continue;
      for (const [org, words] of secretsOf) {
        if (org !== orgOf(subject))
          for (const word of words)
            assert.ok(!answer.text.includes(word), `${spec.id} ${what} told ${subject} of ${word}, of another organization`);
      }
    }
  }
}

function refuseTells(rows: Row[]) {
  for (const row of rows.filter((r) => r.named !== 'own' && r.named.of === 'other')) {
    const unknown = rows.find((r) => r.spec === row.spec && r.named !== 'own' && r.what === row.what.replace('other', 'unknown'))!;
    row.cells.forEach((cell, i) => {
      const told = `${row.spec.id} tells ${cell.subject} that an id of another organization exists`;
      assert.equal(cell.blind, unknown.cells[i]!.blind, told);
      assert.equal(cell.bySession?.blind, unknown.cells[i]!.bySession?.blind, `${told}, in a session`);
    });
  }
}

/** Cell by cell. Operations that are marked `session` or `fresh` have rows of their own in the committed file. */
function compareSessions(rows: Row[]) {
  for (const { spec, what, cells } of rows) {
    for (const { subject, text, bySession } of cells) {
      if (!bySession) continue;
      const where = `${spec.id} ${what} as ${subject}`;
      if (!spec.session) assert.equal(bySession.fresh, text, `${where}: a session and a token differ`);
      if (spec.session) assert.equal(text, '403', `${where}: a token must not`);
      if (!spec.fresh) assert.equal(bySession.stale, bySession.fresh, `${where}: an old session and a fresh one differ`);
      if (spec.fresh) assert.ok(Number.parseInt(bySession.stale, 10) >= 400, `${where}: an old session must not`);
    }
  }
}

/** What no update of the committed file can make right. */
function refuseStrangers(rows: Row[]) {
  for (const { spec, what, named, cells } of rows.filter((r) => r.spec.permission !== 'none')) {
    for (const { subject, answer } of cells) {
      const where = `${spec.id} ${what} as ${subject}`;
      if (subject === 'none') assert.equal(answer.status, 401, where);
      if (spec.personal && (subject === 'narrowed' || subject === 'elsewhere')) assert.equal(answer.status, 403, where);
      if (named !== 'own') assert.ok(answer.status >= 400, `${where} answered ${answer.status}`);
      if (subject === 'bare' && spec.entitlement) assert.equal(answer.status, 403, where);
      if ((subject === 'outsider' || subject === 'bare') && pathParams(spec.path).length)
        assert.ok([403, 404].includes(answer.status), `${where} answered ${answer.status}`);
    }
  }
}
