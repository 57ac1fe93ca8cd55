import { barOf, firstCellAt, halfHoursOf, lineOf } from '../rules/summary.ts';
import type { ChangeRow, SummaryRow } from '../store/summary.ts';
import { maxChanges } from '../store/summary.ts';

/** A monitor as a row of a screen that shows a thousand. `changes`: of the last day, newest first. */
export function summaryView(m: SummaryRow, changes: readonly ChangeRow[], now: number) {
  const firstCell = firstCellAt(now);
  const halfHours = halfHoursOf(m.half_hours);
  const day = {
    firstCell,
    now,
    state: m.state,
    since: Date.parse(m.since),
    changes: changes.map((c) => ({ since: Date.parse(c.since), from: c.from_state, to: c.to_state })),
    isCut: changes.length === maxChanges,
  };
  return {
    id: m.id,
    name: m.name,
    kind: m.kind,
    enabled: m.enabled,
    state: m.state,
    since: m.since,
    ...(m.service_id === null ? {} : { serviceId: m.service_id }),
    ...(m.latency === null ? {} : { latencyMs: Math.round(m.latency) }),
    bar: barOf(halfHours, day),
    line: lineOf(halfHours),
  };
}
