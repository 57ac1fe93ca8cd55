import { email } from '../../../../contract/email.ts';
import { ok, operation } from '../../../identity/operation.ts';
import { invalid } from '../../../kernel/errors.ts';
import { readCursor, writeCursor } from '../rules/cursor.ts';
import { foldAddress } from '../rules/envelope.ts';
import { listMessageRows } from '../store/messages.ts';
import { messageView } from '../views/message.ts';

const pageSize = 50;

export const listMessages = operation(email.listMessages, async ({ ctx, query }) => {
  const { cursor, ...filters } = query;
  const before =
    cursor === undefined ? null : (readCursor(cursor, filters) ?? invalid('the cursor belongs to other filters; start again without it'));
  const { to } = filters;
  const found = await ctx.read((tx) =>
    listMessageRows(
      tx,
      ctx.org,
      ctx.visible,
      { ...filters, ...(to === undefined ? {} : { to: foldAddress(to) }) },
      { before, limit: pageSize + 1 },
    ),
  );
  const page = found.slice(0, pageSize);
  return ok({ messages: page.map(messageView), ...(found.length > pageSize ? { cursor: writeCursor(page.at(-1)!.id, filters) } : {}) });
});
