import { oncall } from '../../../../contract/oncall.ts';
import { audit } from '../../../identity/audit.ts';
import { noContent, operation } from '../../../identity/operation.ts';
import { topics } from '../../../identity/principal.ts';
import { notFound } from '../../../kernel/errors.ts';
import { revokeSource } from '../engine/sources.ts';
import { lockSource } from '../store/sources.ts';

export const revokeAlertSource = operation(oncall.revokeAlertSource, async ({ ctx, params }) =>
  ctx.write(
    async (tx) => {
      const source = (await lockSource(tx, ctx.org, params.id)) ?? notFound('alert source');
      ctx.require(source.service_id);
      await revokeSource(tx, ctx.app.caches, ctx.org, source.id);
      await audit(tx, ctx, 'oncall.source.revoke', source, { name: source.name, serviceId: source.service_id });
      return noContent();
    },
    { revokes: [topics.credential(params.id)] },
  ),
);
