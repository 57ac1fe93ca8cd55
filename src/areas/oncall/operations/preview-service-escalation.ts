import { oncall } from '../../../../contract/oncall.ts';
import type { Ctx } from '../../../identity/context.ts';
import { ok, operation } from '../../../identity/operation.ts';
import type { Tx } from '../../../kernel/db.ts';
import { now } from '../../../kernel/time.ts';
import { responderOf } from '../engine/responder.ts';
import { findService } from '../engine/find-service.ts';
import { askedInstant } from '../rules/asked-instant.ts';
import { labelsFor } from '../views/policies.ts';
import { type Foreseen, preview } from '../rules/preview.ts';
import { policyOf } from '../store/policies.ts';
import { provider } from '../store/provider.ts';
import { isStopped, type Wishes } from '../store/settings.ts';

export const previewServiceEscalation = operation(oncall.previewServiceEscalation, async ({ ctx, params, query }) =>
  ctx.read(async (tx) => {
    const service = await findService(tx, ctx, params.id);
    const at = query.at ? askedInstant('at', query.at) : await now(tx);
    const policy = await policyOf(tx, ctx.org, service.id);
    if (!policy) return ok({ at, steps: [] });
    const labels = await labelsFor(tx, ctx.org, [policy]);
    const named = {
      ...policy,
      steps: policy.steps.map((s) => ({ ...s, target: { ...s.target, label: s.target.label || (labels(s.target) ?? '') } })),
    };
    const wishes = await pagesFor(tx, ctx);
    const steps = await preview(named, at, async (target, when): Promise<Foreseen> => {
      const reached = await responderOf(tx, ctx.org, target, when);
      if ('nobody' in reached) return reached;
      return { userId: reached.member.id, label: reached.label, pages: await wishes(reached.member.id, reached) };
    });
    return ok({ at, escalationPolicyId: policy.id, steps });
  }),
);

/** Everybody's rules once, with what would keep each page from arriving. */
async function pagesFor(tx: Tx, ctx: Ctx) {
  const configured = Boolean(await provider(tx, ctx.org));
  const known = new Map<string, { delaySeconds: number; channel: string; problem?: string }[]>();
  return async (userId: string, { phone, rules }: Wishes) => {
    const before = known.get(userId);
    if (before) return before;
    const stopped = await isStopped(tx, ctx.org, userId);
    const pages = rules.map(({ channel, delaySeconds }) => {
      const problem =
        channel === 'email'
          ? ctx.app.config.smtp_relay
            ? undefined
            : 'no mail leaves this server: the operator must set QUARTERDECK_SMTP_RELAY'
          : !configured
            ? 'no-credential: the organization has no SMS and voice provider; set one'
            : !phone
              ? 'this person has given no phone number'
              : channel === 'sms' && stopped
                ? 'this phone replied STOP; its owner must save their paging settings again'
                : undefined;
      return { delaySeconds, channel, ...(problem ? { problem } : {}) };
    });
    known.set(userId, pages);
    return pages;
  };
}
