import { email } from '../../../../../contract/email.ts';
import { audit } from '../../../../identity/audit.ts';
import { created, operation } from '../../../../identity/operation.ts';
import { mintSendKey } from '../engine/send-keys.ts';
import { sendKeyView } from '../views/send-key.ts';

export const createSendKey = operation(email.createSendKey, async ({ ctx, body: { name, domainIds = [] } }) =>
  ctx.write(async (tx) => {
    const { key, secret } = await mintSendKey(tx, ctx, { name, domainIds });
    await audit(tx, ctx, 'email.key.create', key, { name, keyId: key.key_id, domainIds: key.domain_ids });
    return created({ sendKey: sendKeyView(key), secret }, `/email/keys/${key.id}`);
  }),
);
