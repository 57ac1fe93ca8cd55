import type { Query } from '../../../../contract/common.ts';
import { organization } from '../../../../contract/organization.ts';
import { ok, operation } from '../../../identity/operation.ts';
import { listAuditRows } from '../../../identity/store/audit.ts';
import { accountsOfAddress } from '../../../identity/store/members.ts';
import type { Tx } from '../../../kernel/db/index.ts';
import { invalid } from '../../../kernel/errors.ts';
import { readCursor, writeCursor } from '../../../kernel/lists/filtered-cursor.ts';
import { paginate } from '../../../kernel/pagination.ts';
import { auditView } from '../views/audit.ts';

const maxPage = 1_000;

export const listAudit = operation(organization.listAudit, async ({ ctx, query }) => {
  const { limit = maxPage, cursor, ...filters } = query;
  const after =
    cursor === undefined ? null : (readCursor(cursor, filters) ?? invalid('the cursor belongs to other filters; start again without it'));
  const window = { from: timeOf('from', filters.from), to: timeOf('to', filters.to) };
  return ctx.read(async (tx) => {
    const actors = await actorsOf(tx, filters.actor);
    const found = await listAuditRows(tx, ctx.org, { ...window, actors, target: filters.target, action: filters.action }, { limit, after });
    const { items, cursor: more } = paginate(
      found,
      { limit, after },
      (a) => a.id,
      (a) => a.is_beyond,
    );
    return ok({ entries: items.map(auditView), ...(more ? { cursor: writeCursor(items.at(-1)!.id, filters) } : {}) });
  });
});

/** An id as it stands in the log, or the address of a person. */
async function actorsOf(tx: Tx, actor: Query<typeof organization.listAudit>['actor']): Promise<string[] | undefined> {
  if (actor === undefined) return undefined;
  return actor.includes('@') ? (await accountsOfAddress(tx, actor, undefined)).map(({ id }) => id) : [actor];
}

function timeOf(name: string, text: string | undefined): string | undefined {
  if (text === undefined) return undefined;
  const at = new Date(text);
  const year = at.getUTCFullYear();
  return year >= 2000 && year < 2100 ? at.toISOString() : invalid(`${name} must be a time between the years 2000 and 2100`);
}
