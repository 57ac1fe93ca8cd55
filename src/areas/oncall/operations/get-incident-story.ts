import { oncall } from '../../../../contract/oncall.ts';
import { ok, operation } from '../../../identity/operation.ts';
import { askParts } from '../../ask-parts.ts';
import { findIncident } from '../engine/find-incident.ts';
import { beginStory } from '../engine/ports/story.ts';
import type { OpenOncall } from '../open.ts';
import { newestBefore, onOneAxis } from '../rules/story.ts';
import { incidentView } from '../views/incidents.ts';

export const getIncidentStory = operation(oncall.getIncidentStory, async ({ ctx, params }, { ports }: OpenOncall) => {
  const { incident, own } = await ctx.read(async (tx) => {
    const found = await findIncident(tx, ctx, params.id);
    return { incident: found, own: await beginStory(tx, ctx.org, found) };
  });
  const { parts, unavailable } = await askParts(ctx, ports.story, own.subject);
  const told = (list: 'entries' | 'before') =>
    parts.flatMap(({ area, answer }) => (answer[list] ?? []).map((entry) => ({ ...entry, area })));
  const axis = onOneAxis([...own.entries, ...told('entries')]);
  const earlier = newestBefore(told('before'));
  return ok({
    incident: incidentView(incident),
    before: earlier.before,
    entries: axis.entries,
    truncated: own.isCut || axis.isCut || earlier.isCut || parts.some(({ answer }) => answer.isCut),
    withheld: parts.flatMap(({ area, answer }) => (answer.withheld ?? []).map((part) => ({ area, ...part }))),
    unavailable,
  });
});
