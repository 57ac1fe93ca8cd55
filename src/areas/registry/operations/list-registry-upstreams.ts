import { registry } from '../../../../contract/registry.ts';
import { ok, operation } from '../../../identity/operation.ts';

export const listRegistryUpstreams = operation(registry.listRegistryUpstreams, async ({ ctx }) =>
  ok({ upstreams: ctx.app.config.registry_upstreams.map(({ host, endpoint }) => ({ host, endpoint })) }),
);
