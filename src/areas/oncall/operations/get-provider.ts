import { oncall } from '../../../../contract/oncall.ts';
import { ok, operation } from '../../../identity/operation.ts';
import { provider } from '../store/provider.ts';
import { providerView } from '../views/provider.ts';

export const getProvider = operation(oncall.getProvider, async ({ ctx }) =>
  ctx.read(async (tx) => ok(providerView(await provider(tx, ctx.org)))),
);
