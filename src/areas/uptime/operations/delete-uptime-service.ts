import { uptime } from '../../../../contract/uptime.ts';
import { audit } from '../../../identity/audit.ts';
import { noContent, operation } from '../../../identity/operation.ts';
import { conflict, notFound } from '../../../kernel/errors.ts';
import { publicChanged } from '../../services/engine/public.ts';
import * as store from '../../services/store/services.ts';

export const deleteUptimeService = operation(uptime.deleteUptimeService, async ({ ctx, params }) =>
  ctx.write(async (tx) => {
    const service = (await store.lockService(tx, ctx.org, params.id)) ?? notFound('service');
    ctx.require(service.id);
    const references: string[] = [];
    for (const refer of ctx.app.ports.references) references.push(...(await refer(tx, ctx.org, service.id)));
    if (references.length) conflict(`the service ${service.name} is still used by ${references.join(', ')}; detach or delete those first`);

    await store.deleteService(tx, ctx.org, service.id);
    await publicChanged(tx, ctx.org);
    await audit(tx, ctx, 'services.service.delete', service, { name: service.name });
    return noContent();
  }),
);
