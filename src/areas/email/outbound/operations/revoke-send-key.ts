import { email } from '../../../../../contract/email.ts';
import { audit } from '../../../../identity/audit.ts';
import { noContent, operation } from '../../../../identity/operation.ts';
import { topics } from '../../../../identity/principal.ts';
import * as keys from '../engine/send-keys.ts';

export const revokeSendKey = operation(email.revokeSendKey, async ({ ctx, params }) =>
  ctx.write(
    async (tx) => {
      const key = await keys.revokeSendKey(tx, ctx, params.id);
      await audit(tx, ctx, 'email.key.revoke', key, { name: key.name, keyId: key.key_id });
      return noContent();
    },
    { revokes: [topics.credential(params.id)] },
  ),
);
