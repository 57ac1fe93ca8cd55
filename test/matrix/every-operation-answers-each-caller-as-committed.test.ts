import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { test } from 'node:test';
import { pathParams } from '../../contract/common.ts';
import { computeMatrix, plansOf, type Row } from './matrix.ts';
import { quarterdeckOutside } from './outside.ts';
import { servedAreas } from './recipes/index.ts';
import { render } from './render.ts';
import { makeWorld, type World } from './world.ts';

// QUARTERDECK_UPDATE=1 rewrites the committed files; QUARTERDECK_AREA=registry computes one area alone.
const update = process.env.QUARTERDECK_UPDATE;
const only = process.env.QUARTERDECK_AREA;

test('every operation answers each caller as the committed matrix says', async (t) => {
  const world = await makeWorld(await quarterdeckOutside(t));
  for (const area of servedAreas().filter((a) => !only || a.name === only)) {
    await t.test(area.name, async (t) => {
      const rows = await computeMatrix(world, area.operations().flatMap(plansOf));
      await t.test('no caller reads a word of another organization', () => refuseLeaks(world, rows));
      await t.test("the unknown and another organization's look the same", () => refuseTells(rows));
      await t.test('strangers are refused', () => refuseStrangers(rows));
      await compare(area.name, render(rows));
    });
  }
});

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
      assert.equal(cell.blind, unknown.cells[i]!.blind, `${row.spec.id} tells ${cell.subject} that an id of another organization exists`);
    });
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
