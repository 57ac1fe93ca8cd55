import { registry } from '../../../../contract/registry.ts';
import { ok, operation } from '../../../identity/operation.ts';
import * as store from '../store/registries.ts';
import { registryView } from '../views/registry.ts';

export const listRegistries = operation(registry.listRegistries, async ({ ctx }) =>
  ctx.read(async (tx) => ok({ registries: (await store.registriesOf(tx, ctx.org, ctx.visible)).map(registryView) })),
);
