import { uptime } from '../../../../contract/uptime.ts';
import type { Ctx } from '../../../identity/context.ts';
import { ok, operation } from '../../../identity/operation.ts';
import { invalid, unavailable } from '../../../kernel/errors.ts';
import { checkTarget, fillIn } from '../engine/check-monitor.ts';
import { findMonitor } from '../engine/find-monitor.ts';
import { tryTarget } from '../engine/trials.ts';
import type { OpenUptime } from '../open.ts';
import { hasMask, mask, type Target } from '../rules/masked-target.ts';
import { openedTarget } from '../rules/sealed-target.ts';
import { shapeComplaint, targetOf } from '../rules/target.ts';
import { trialView } from '../views/trial.ts';

export const tryMonitor = operation(uptime.tryMonitor, async ({ ctx, body }, { trials }: OpenUptime) => {
  const { kind, http, tcp, timeoutMs = 10_000, monitorId } = body;
  const given = { ...(http && { http }), ...(tcp && { tcp }) };
  const misshapen = shapeComplaint(kind, given);
  if (misshapen) invalid(misshapen);
  const usesStored = hasMask(given);
  const stored = monitorId === undefined ? undefined : await storedTarget(ctx, monitorId, usesStored);
  const targets = fillIn(given, stored);
  checkTarget(ctx.app, targets);
  const observation = await tryTarget(trials, ctx.app, ctx.org, targetOf(targets), timeoutMs);
  // An answer may repeat a stored value, which the caller need not know.
  return ok(trialView(observation, { withSnippet: !usesStored }));
});

async function storedTarget(ctx: Ctx, id: string, isNeeded: boolean): Promise<Target | undefined> {
  const monitor = await ctx.read((tx) => findMonitor(tx, ctx, id));
  const target = openedTarget(ctx.app.secrets, monitor);
  if (!target && isNeeded)
    unavailable(
      `what is stored for ${mask} cannot be opened at the moment; send every value, or ask the operator whether secret.key is whole`,
    );
  return target;
}
