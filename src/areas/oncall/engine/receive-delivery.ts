import type { OpenCtx } from '../../../identity/context.ts';
import { Refusal, unavailable } from '../../../kernel/errors.ts';
import { shareService } from '../../services/index.ts';
import type { Delivery } from '../rules/alerts.ts';
import { delivering } from '../store/sources.ts';
import { ingest } from './ingest.ts';
import type { SourceAccess } from './sources.ts';
import type { Turns } from './turns.ts';

/** An unknown source, another one's token and a revoked one look the same. */
const unknown = (): never => {
  throw new Refusal(401, 'unauthenticated', 'unauthenticated: there is no such alert source, or this is not its token');
};

/** Both protocols end here: everything of the delivery is stored before it is answered, or nothing is and the sender tries again. */
export async function receiveDelivery(ctx: OpenCtx, inTurn: Turns, sourceId: string, read: (now: string) => Delivery) {
  const access = ctx.principal?.access as SourceAccess | undefined;
  const org = ctx.principal?.org.id;
  if (!access || !org || access.sourceId !== sourceId) return unknown();
  const store = () =>
    ctx.write(async (tx) => {
      // unaudited: machines deliver; what their alerts do stands in the incident's timeline.
      const [taking, shared] = await Promise.all([
        delivering(tx, org, sourceId, access.serviceId),
        shareService(tx, org, access.serviceId),
      ]);
      const source = taking ?? unknown();
      const service = shared ?? unavailable('the service of this alert source is gone');
      const delivery = read(source.now);
      const { firing, resolved } = await ingest(
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
      return { accepted: delivery.alerts.length, firing, resolved };
    });
  return inTurn(access.serviceId, store);
}
