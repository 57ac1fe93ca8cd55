import { oncall } from '../../../../contract/oncall.ts';
import { ok, operation } from '../../../identity/operation.ts';
import { sourcesOf } from '../store/sources.ts';
import { sourceView } from '../views/sources.ts';

export const listAlertSources = operation(oncall.listAlertSources, async ({ ctx }) =>
  ctx.read(async (tx) => ok({ sources: (await sourcesOf(tx, ctx.org, ctx.visible)).map(sourceView) })),
);
