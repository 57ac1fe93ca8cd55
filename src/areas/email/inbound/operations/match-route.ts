import { email } from '../../../../../contract/email.ts';
import type { Ctx } from '../../../../identity/context.ts';
import { ok, operation } from '../../../../identity/operation.ts';
import type { Tx } from '../../../../kernel/db/index.ts';
import { invalid } from '../../../../kernel/errors.ts';
import { InvalidAddress, readAddress } from '../../rules/address.ts';
import { webhooksOf } from '../../webhooks/store/webhooks.ts';
import { decideDestination, isReturnHost, reportedDomain } from '../rules/destination.ts';
import { type ReceivingRow, receivingByName } from '../store/routes.ts';
import { matchView } from '../views/route.ts';

export const matchRoute = operation(email.matchRoute, async ({ ctx, body }) => {
  const read = readAddress(body.address);
  if (read instanceof InvalidAddress) return invalid(`address ${read.why}`);
  const { address, domain } = read;
  return ctx.read(async (tx) => {
    const found = await findOurs(tx, ctx, domain);
    if (!found && isReturnHost(domain) && (await findOurs(tx, ctx, reportedDomain(domain))))
      return ok(matchView(address, { kind: 'report' }));
    const destination = decideDestination(found && { ...found, isEntitled: true }, address.slice(0, -domain.length - 1));
    const disabled = (await webhooksOf(tx, ctx.org)).filter((endpoint) => endpoint.disabled);
    return ok(matchView(address, destination, found, new Set(disabled.map(({ id }) => id))));
  });
});

/** A domain of another organization, or one that the caller may not see, is as unknown as any. */
async function findOurs(tx: Tx, ctx: Ctx, name: string): Promise<ReceivingRow | undefined> {
  const found = await receivingByName(tx, name);
  return found?.org_id === ctx.org && (ctx.visible === '*' || ctx.visible.has(found.id)) ? found : undefined;
}
