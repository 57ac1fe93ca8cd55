import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import fc from 'fast-check';
import Type from 'typebox';
import { rows } from '../../../../kernel/db/index.ts';
import { alert, covered, group, made, source, unresolved, user, ward } from '../support.ts';

const CountedRow = Type.Object({ id: Type.String(), kept: Type.Array(Type.Integer()), counted: Type.Array(Type.Integer()) });

const words = fc.record({
  fingerprint: fc.constantFrom('a', 'b', 'c'),
  status: fc.constantFrom('firing' as const, 'resolved' as const),
  minute: fc.constantFrom(0, 1, 2),
  source: fc.nat(1),
});
const deeds = fc.array(
  fc.oneof(
    { weight: 6, arbitrary: fc.array(words, { minLength: 1, maxLength: 5 }) },
    { weight: 1, arbitrary: fc.constantFrom('resolve' as const, 'open' as const) },
  ),
  { minLength: 3, maxLength: 12 },
);

/** Whatever is delivered in whatever order, an incident says how many alerts fire without counting them. */
export async function countAlerts(t: TestContext, numRuns: number): Promise<void> {
  const qd = await ward(t);
  const { owner } = qd;
  await fc.assert(
    fc.asyncProperty(deeds, async (story) => {
      const { service } = await covered(owner, { steps: [[user(owner), 86_400]] });
      const sources = [await source(owner, qd.url, service.id), await source(owner, qd.url, service.id)];
      for (const deed of story) {
        if (deed === 'resolve') {
          const [live] = (await unresolved(owner)).filter((i: { serviceId: string }) => i.serviceId === service.id);
          if (live) await made(owner.post(`/oncall/incidents/${live.id}/resolve`));
        } else if (deed === 'open') await made(owner.post('/oncall/incidents', { serviceId: service.id, title: 'by hand' }));
        else
          for (const [i, { deliver }] of sources.entries()) {
            const told = deed.filter((w) => w.source === i);
            await made(
              deliver(
                group(
                  told.map((w) =>
                    alert(w.fingerprint, {
                      status: w.status,
                      startsAt: `2026-11-01T10:0${w.minute}:00Z`,
                      ...(w.status === 'resolved' ? { endsAt: `2026-11-01T10:0${w.minute}:30Z` } : {}),
                    }),
                  ),
                ),
              ),
            );
          }
      }
      const found = await qd.app.db.read(
        (tx) => rows(tx, CountedRow)`
          select i.id, array[i.firing_alerts, (i.alert_count > 0)::int] as kept,
                 array[(select count(distinct (a.source_id, a.fingerprint)) from oncall.alert a where a.incident_id = i.id and a.status = 'firing')::int,
                       (exists (select from oncall.alert a where a.incident_id = i.id))::int] as counted
            from oncall.incident i where i.service_id = ${service.id}`,
      );
      for (const { kept, counted, id } of found) assert.deepEqual(kept, counted, id);
    }),
    { numRuns },
  );
}
