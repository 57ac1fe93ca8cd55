import { uptime } from '../../../../contract/uptime.ts';
import { ok, operation } from '../../../identity/operation.ts';
import { ping } from '../store/observations.ts';

export const pingUptime = operation(uptime.pingUptime, async ({ ctx }) =>
  ctx.read(async (tx) => {
    const { epoch, now } = await ping(tx, ctx.org);
    return ok({ service: 'uptime', org: ctx.principal.org.slug, schemaEpoch: epoch.slice('uptime/'.length), time: now });
  }),
);
