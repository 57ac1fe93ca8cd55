import { uptime } from '../../../../contract/uptime.ts';
import { ok, operation } from '../../../identity/operation.ts';
import { intervalLabel } from '../rules/intervals.ts';
import { vantages } from '../store/observations.ts';

export const getUptimeCatalog = operation(uptime.getUptimeCatalog, async ({ ctx }) =>
  ctx.read(async (tx) =>
    ok({
      intervals: ctx.app.config.uptime_intervals.map((seconds) => ({ seconds, label: intervalLabel(seconds) })),
      vantages: await vantages(tx),
    }),
  ),
);
