import { email } from '../../../../../contract/email.ts';
import { ok, operation } from '../../../../identity/operation.ts';
import { keysOf } from '../store/send-keys.ts';
import { sendKeyView } from '../views/send-key.ts';

export const listSendKeys = operation(email.listSendKeys, async ({ ctx }) =>
  ctx.read(async (tx) => ok({ sendKeys: (await keysOf(tx, ctx.org, ctx.visible)).map(sendKeyView) })),
);
