import { email } from '../../../../../contract/email.ts';
import { ok, operation } from '../../../../identity/operation.ts';
import { notFound } from '../../../../kernel/errors.ts';
import type { OpenEmail } from '../../open.ts';
import { findBody } from '../store/messages.ts';

export const getMessageContent = operation(email.getMessageContent, async ({ ctx, params }, { spool }: OpenEmail) => {
  const body = (await ctx.read((tx) => findBody(tx, ctx.org, params.id))) ?? notFound('message, or its content is past its 30 days');
  ctx.require(body.domain_id);
  const stream = await spool.read({ key: body.body_key, offset: body.body_offset, bytes: body.body_bytes });
  return ok(stream ?? notFound('content: it lies on another machine, or is gone'));
});
