import type { App } from '../../../../kernel/app.ts';
import type { Tx } from '../../../../kernel/db.ts';
import type { Assignment, AssignmentsResponse, HttpTarget, TcpTarget } from '../../protocol.ts';
import type { Target } from '../../rules/hidden.ts';
import { membersHash, ownerOf, readCursor, writeCursor } from '../../rules/share.ts';
import { openTarget } from '../../sealed-target.ts';
import { type AssignmentRow, allOf, changedSince, newestRevision } from '../../store/assignments.ts';
import { members } from '../../store/instances.ts';

/** What an instance must know beyond its cursor; undefined: nothing new. */
export async function newsFor(
  app: App,
  tx: Tx,
  vantage: string,
  instance: string,
  since: string | undefined,
): Promise<AssignmentsResponse | undefined> {
  const sharing = await members(tx, vantage);
  if (!sharing.includes(instance)) sharing.push(instance); // it asks, so it is there, whatever the clock did meanwhile
  const known = readCursor(since);
  // Read before the assignments: what commits in between is told now and once more, never not at all.
  const revision = await newestRevision(tx);
  const cursor = writeCursor({ revision, members: membersHash(sharing) });
  if (known && cursor === since) return undefined;
  const mine = (row: AssignmentRow) => row.ours && ownerOf(row.id, sharing) === instance;
  if (known?.members !== membersHash(sharing) || known.revision > revision) {
    const all = await allOf(tx, vantage);
    return { cursor, full: true, assignments: all.filter(mine).flatMap((row) => assignmentOf(app, row)), removed: [] };
  }
  const changed = await changedSince(tx, vantage, known.revision);
  return {
    cursor,
    full: false,
    assignments: changed.filter(mine).flatMap((row) => assignmentOf(app, row)),
    removed: changed.filter((row) => !row.ours).map((row) => row.id),
  };
}

/** None for a target that cannot be opened: the others must go on being checked. */
function assignmentOf({ secrets, log }: App, row: AssignmentRow): Assignment[] {
  try {
    return [assignmentTo(row, openTarget(secrets, row))];
  } catch (err) {
    log.error({ err, monitor: row.id }, 'the target of a monitor cannot be opened; it is not checked until it is set anew');
    return [];
  }
}

const assignmentTo = (row: AssignmentRow, target: Target): Assignment => {
  const common = {
    id: row.id,
    epoch: row.epoch,
    intervalSeconds: row.interval_seconds,
    timeoutMs: row.timeout_ms,
    confirmations: row.confirmations,
    streak: { fail: row.fail_streak, pass: row.pass_streak, verdict: row.verdict },
  };
  return row.kind === 'http'
    ? { ...common, kind: 'http', target: target as HttpTarget }
    : { ...common, kind: 'tcp', target: target as TcpTarget };
};
