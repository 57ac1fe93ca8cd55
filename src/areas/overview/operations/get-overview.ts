import { overview } from '../../../../contract/overview.ts';
import { ok, operation } from '../../../identity/operation.ts';
import { now } from '../../../kernel/time.ts';
import { askParts } from '../../ask-parts.ts';
import { mergeParts } from '../engine/merge.ts';
import type { OpenOverview } from '../open.ts';

export const getOverview = operation(overview.getOverview, async ({ ctx }, { ports }: OpenOverview) => {
  const [at, { parts, unavailable }] = await Promise.all([ctx.read(now), askParts(ctx, ports.overview)]);
  return ok({ at, ...mergeParts(parts.map(({ answer }) => answer)), unavailable });
});
