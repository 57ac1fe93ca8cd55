import { registry } from '../../../../contract/registry.ts';
import { ok, operation } from '../../../identity/operation.ts';
import { catalogOf } from '../rules/upstreams.ts';

export const listRegistryUpstreams = operation(registry.listRegistryUpstreams, async ({ ctx }) =>
  ok({ upstreams: catalogOf(ctx.app).map(({ host, endpoint }) => ({ host, endpoint })) }),
);
