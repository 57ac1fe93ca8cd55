/** A line of an incident's timeline, as far as it tells whether somebody was paged. */
interface Line {
  at: string;
  kind: string;
  data?: { nextAt?: string; lateSeconds?: number };
}

const minute = 60_000;
/** What a timeline says is due at an instant may be done a moment later. */
const slack = 5_000;
const lasting = new Set(['escalation_exhausted', 'no_policy']);
const step = new Set(['step_fired', 'nobody_on_call']);

/**
 * The minutes, of all in which the incident was open and nobody had acknowledged, in which nobody was paged and of which the timeline
 * does not say why: silence. A reason is a line within the minute, or an earlier one that speaks of it: the policy is walked through,
 * the walk goes on at a time that is still to come, or a step came late because the server was away.
 */
export function silentMinutes(timeline: readonly Line[], until: string): string[] {
  const lines = timeline.map((line) => ({ ...line, ms: Date.parse(line.at) }));
  const silent: string[] = [];
  for (const { from, to } of openTimes(lines, Date.parse(until)))
    for (let m = from; m < to; m += minute) {
      const end = Math.min(m + minute, to);
      const inside = lines.filter((l) => l.ms >= m && l.ms < end);
      if (end - m < slack || inside.some((l) => l.kind === 'page_sent' || l.kind === 'page_delayed' || lasting.has(l.kind))) continue;
      const last = lines.findLast((l) => l.ms < end && l.ms >= from && (step.has(l.kind) || lasting.has(l.kind)));
      const goesOn = last && (lasting.has(last.kind) || Date.parse(last.data?.nextAt ?? '') + slack >= m);
      // A step that was said to page somebody must have done so within the minute, or have handed on.
      const isEmpty =
        last?.kind === 'step_fired' && !lines.some((l) => l.kind === 'page_sent' && l.ms >= last.ms && l.ms < last.ms + minute);
      const late = lines.some((l) => l.data?.lateSeconds !== undefined && l.ms >= m && l.ms - l.data.lateSeconds * 1000 <= m + slack);
      if (!late && (!goesOn || (isEmpty && end - last.ms >= minute))) silent.push(new Date(m).toISOString());
    }
  return silent;
}

/** From when to when it was open without an acknowledgement. */
function openTimes(lines: readonly { kind: string; ms: number }[], until: number): { from: number; to: number }[] {
  const times: { from: number; to: number }[] = [];
  let from: number | undefined;
  for (const { kind, ms } of lines) {
    if (kind === 'opened' || kind === 'walk_restarted') {
      if (from !== undefined) times.push({ from, to: ms });
      from = ms;
    } else if ((kind === 'acknowledged' || kind === 'resolved') && from !== undefined) {
      times.push({ from, to: ms });
      from = undefined;
    }
  }
  if (from !== undefined) times.push({ from, to: until });
  return times.filter((time) => time.to > time.from);
}
