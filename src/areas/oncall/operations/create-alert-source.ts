import { oncall } from '../../../../contract/oncall.ts';
import { audit } from '../../../identity/audit.ts';
import { created, operation } from '../../../identity/operation.ts';
import { mintKey } from '../../../identity/token-format.ts';
import { findService } from '../engine/find-service.ts';
import { insertSource } from '../store/sources.ts';

export const createAlertSource = operation(oncall.createAlertSource, async ({ ctx, body }) =>
  ctx.write(async (tx) => {
    const service = await findService(tx, ctx, body.serviceId, 'service in serviceId');
    const { key: token, hash } = mintKey('src');
    const source = await insertSource(tx, ctx.org, { name: body.name, serviceId: service.id, hash });
    await audit(tx, ctx, 'oncall.source.create', source, { name: source.name, serviceId: service.id });
    const { id, name, created_at } = source;
    return created({ id, name, serviceId: service.id, token, createdAt: created_at }, `/oncall/alert-sources/${id}`);
  }),
);
