import { oncall } from '../../../../contract/oncall.ts';
import type { Ctx } from '../../../identity/context.ts';
import { ok, operation } from '../../../identity/operation.ts';
import type { Tx } from '../../../kernel/db/index.ts';
import { now } from '../../../kernel/time.ts';
import { type Responder, responderOf } from '../engine/escalation/responder.ts';
import { viewService } from '../engine/find-service.ts';
import { reachabilityOfMembers } from '../engine/reachability.ts';
import { warningOf } from '../rules/channels.ts';
import { type PreviewedResponder, preview } from '../rules/preview.ts';
import { parseQueryTime } from '../rules/query-time.ts';
import { policyOf } from '../store/policies.ts';
import { labelsFor } from '../views/policies.ts';

export const previewServiceEscalation = operation(oncall.previewServiceEscalation, async ({ ctx, params, query }) =>
  ctx.read(async (tx) => {
    const service = await viewService(tx, ctx, params.id);
    const at = query.at ? parseQueryTime('at', query.at) : await now(tx);
    const policy = await policyOf(tx, ctx.org, service.id);
    if (!policy) return ok({ at, steps: [] });
    const labels = await labelsFor(tx, ctx.org, [policy]);
    const named = {
      ...policy,
      steps: policy.steps.map((s) => ({ ...s, target: { ...s.target, label: s.target.label || (labels(s.target) ?? '') } })),
    };
    const foresee = await pagesFor(tx, ctx);
    const steps = await preview(named, at, async (target, when): Promise<PreviewedResponder> => {
      const reached = await responderOf(tx, ctx.org, target, when);
      if ('unreachedBecause' in reached) return reached;
      return { userId: reached.member.id, label: reached.label, pages: await foresee(reached) };
    });
    return ok({ at, escalationPolicyId: policy.id, steps });
  }),
);

type Pages = Extract<PreviewedResponder, { userId: string }>['pages'];

/** Reads each person's rules once, with the problem of each channel. */
async function pagesFor(tx: Tx, ctx: Ctx) {
  const reachabilityFor = await reachabilityOfMembers(tx, ctx.app, ctx.org);
  const known = new Map<string, Promise<Pages>>();
  const foresee = async ({ member: { id, email }, addresses, rules }: Responder): Promise<Pages> => {
    const reach = await reachabilityFor(id, { email, ...addresses });
    return rules.map(({ channel, delaySeconds }) => {
      const problem = warningOf(channel, reach);
      return { delaySeconds, channel, ...(problem ? { problem } : {}) };
    });
  };
  return (responder: Responder): Promise<Pages> => {
    const { id } = responder.member;
    const pages = known.get(id) ?? foresee(responder);
    known.set(id, pages);
    return pages;
  };
}
