import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Tx } from '../../../../kernel/db/index.ts';
import { openIncident } from '../../engine/open-incident.ts';
import { walkOn } from '../../engine/walk/walk-on.ts';
import { covered, detail, user, ward } from '../support.ts';

test('the first step of an incident asks the database no more than it must, and leaves its page, its job and its line', async (t) => {
  const { app, owner } = await ward(t);
  const { service } = await covered(owner, {
    steps: [
      [user(owner, 'Ada'), 300],
      [user(owner, 'Ada'), 300],
    ],
  });
  const asked: string[] = [];
  const id = await app.db.write(async (tx) => {
    const counting: Tx = {
      ...tx,
      query: (piece) => {
        asked.push(piece.strings.join('?').trim().replaceAll(/\s+/g, ' '));
        return tx.query(piece);
      },
    };
    const opening = { serviceId: service.id, serviceName: service.name, title: 'down', description: undefined, origin: 'manual' as const };
    const incident = await openIncident(tx, owner.orgId, { ...opening, actor: { kind: 'user', label: 'Ada' }, requestId: undefined });
    await walkOn(counting, owner.orgId, incident.id, undefined);
    return incident.id;
  });
  // The incident, the person and their wishes; a savepoint and the page; where the walk stands, all jobs and all lines.
  assert.equal(asked.length, 8, asked.join('\n'));
  const { pages, timeline } = await detail(owner, id);
  assert.equal(pages.length, 1);
  assert.equal(timeline.filter((e: { kind: string }) => e.kind === 'step_fired').length, 1);
});
