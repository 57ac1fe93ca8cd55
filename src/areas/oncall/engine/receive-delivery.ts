import type { OpenCtx } from '../../../identity/context.ts';
import type { Principal } from '../../../identity/principal.ts';
import type { App } from '../../../kernel/app.ts';
import { invalid, Refusal, unavailable } from '../../../kernel/errors.ts';
import { hint } from '../../../kernel/jobs/index.ts';
import type { Steps } from '../../../kernel/steps.ts';
import { runYielding } from '../../../kernel/yielding.ts';
import { shareService } from '../../services/index.ts';
import type { Delivery } from '../rules/alerts.ts';
import { maxRepeatSeconds, staleDeadline } from '../rules/stale-deadline.ts';
import { beginDelivery, recordProblem, recordRepeat } from '../store/sources.ts';
import type { DeliveryQueue } from './delivery-queue.ts';
import { ingest } from './ingest.ts';
import type { SourceAccess } from './sources.ts';
import type { ValidatedAlerts } from './validate-delivery.ts';

/** An unknown source, a foreign token and a revoked token get the same answer. */
const refuseUnknownSource = (): never => {
  throw new Refusal(401, 'unauthenticated', 'unauthenticated: there is no such alert source, or this is not its token');
};

/** Records an unreadable delivery at its source, because most senders do not show the answer they get. */
export const recordUnreadable = async (app: App, { access, org }: Principal, why: string): Promise<void> => {
  const { sourceId } = access as SourceAccess;
  await app.db.write((tx) => {
    hint(tx, org.id, 'oncall.source');
    return recordProblem(tx, org.id, sourceId, why, 1); // unaudited: as a delivery
  });
};

/** Parses a protocol's body: first each alert on its own, then the whole once the time is known. */
export interface Protocol {
  validate(): Promise<ValidatedAlerts>;
  /** `staleAt`: when an alert becomes stale if its sender does not say so itself. */
  read(validated: ValidatedAlerts, now: string, staleAt: string): Steps<Delivery>;
}

/**
 * Stores a delivery of either protocol. The answer follows the commit; otherwise the sender retries. Invalid alerts are reported in the
 * answer, at the source and in the incident. A delivery with only invalid alerts is refused.
 */
export async function receiveDelivery(ctx: OpenCtx, deliveryQueue: DeliveryQueue, sourceId: string, { validate, read }: Protocol) {
  const access = ctx.principal?.access as SourceAccess | undefined;
  const org = ctx.principal?.org.id;
  if (!access || !org || access.sourceId !== sourceId) return refuseUnknownSource();
  const validated = await validate();
  const { rejected, problems } = validated;
  if (rejected && !validated.alerts.length) {
    await ctx.write((tx) => recordProblem(tx, org, sourceId, problems[0]!, rejected));
    invalid(problems[0]!);
  }
  const store = () =>
    ctx.write(async (tx) => {
      // unaudited: machines deliver. The incident's timeline records the effect of their alerts.
      const [locked, shared] = await Promise.all([
        beginDelivery(tx, org, sourceId, access.serviceId),
        shareService(tx, org, access.serviceId),
      ]);
      const source = locked ?? refuseUnknownSource();
      const service = shared ?? unavailable('the service of this alert source is gone');
      if (rejected) await recordProblem(tx, org, sourceId, problems[0]!, rejected);
      const delivery = {
        ...(await runYielding(read(validated, source.now, staleDeadline(source.now, source.repeat_seconds)))),
        rejected: { count: rejected, problems },
      };
      const { firing, resolved, repeatSeconds } = await ingest(
        tx,
        org,
        {
          serviceId: service.id,
          serviceName: service.name,
          sourceId,
          sourceName: source.name,
          origin: 'alert',
          now: source.now,
          requestId: ctx.requestId,
        },
        delivery,
      );
      const repeat = Math.min(repeatSeconds, maxRepeatSeconds);
      if (repeat > (source.repeat_seconds ?? 0)) await recordRepeat(tx, org, sourceId, repeat);
      return { accepted: delivery.alerts.length, firing, resolved, ...(rejected ? { rejected, problems } : {}) };
    });
  return deliveryQueue(access.serviceId, store);
}
