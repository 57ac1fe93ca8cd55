import { email } from '../../../../../contract/email.ts';
import { ok, operation } from '../../../../identity/operation.ts';
import { invalid } from '../../../../kernel/errors.ts';
import { readCursor, writeCursor } from '../../../../kernel/lists/filtered-cursor.ts';
import { foldAddress } from '../../rules/envelope.ts';
import { listMessageRows } from '../store/messages.ts';
import { messageView } from '../views/message.ts';

const sliceSize = 50;

const states = ['queued', 'sending', 'deferred', 'sent', 'delivered', 'bounced', 'complained', 'suppressed', 'failed', 'received'];

export const listMessages = operation(email.listMessages, async ({ ctx, query }) => {
  const { cursor, ...filters } = query;
  const before =
    cursor === undefined ? null : (readCursor(cursor, filters) ?? invalid('the cursor belongs to other filters; start again without it'));
  const { to, state } = filters;
  if (state !== undefined && !states.includes(state)) invalid(`state must be one of ${states.join(', ')}`);
  const found = await ctx.read((tx) =>
    listMessageRows(
      tx,
      ctx.org,
      ctx.visible,
      { ...filters, ...(to === undefined ? {} : { to: foldAddress(to) }) },
      { before, limit: sliceSize + 1 },
    ),
  );
  const slice = found.slice(0, sliceSize);
  return ok({ messages: slice.map(messageView), ...(found.length > sliceSize ? { cursor: writeCursor(slice.at(-1)!.id, filters) } : {}) });
});
