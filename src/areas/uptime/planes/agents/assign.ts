import { hash } from 'node:crypto';
import type { Tx } from '../../../../kernel/db/index.ts';
import type { Assignment, AssignmentsResponse, HttpTarget, TcpTarget } from '../../../../protocols/agent.ts';
import type { Target } from '../../rules/masked-target.ts';
import { cursorBefore, membersHash, ownerOf, readCursor, writeCursor } from '../../rules/share.ts';
import { type AssignmentRow, allOf, changedSince, newestRevision } from '../../store/assignments.ts';
import { members } from '../../store/instances.ts';
import type { Opener } from './opener.ts';

/** Changes for an instance since its cursor; undefined: none. */
export async function newsFor(
  tx: Tx,
  opener: Opener,
  vantage: string,
  instance: string,
  since: string | undefined,
): Promise<AssignmentsResponse | undefined> {
  const sharing = await members(tx, vantage);
  if (!sharing.includes(instance)) sharing.push(instance); // it polls, so it is alive, whatever the clock did meanwhile
  const known = readCursor(since);
  // Read before the assignments: a change that commits in between is sent twice, never omitted.
  const revision = await newestRevision(tx);
  const shared = membersHash(sharing);
  if (known && since === writeCursor({ revision, members: shared })) return undefined;
  const full = known?.members !== shared || known.revision > revision;
  const changed = full ? await allOf(tx, vantage) : await changedSince(tx, vantage, known.revision);
  const mine = changed.filter((row) => row.ours && ownerOf(row.id, sharing) === instance);
  const opened = mine.map((row) => ({ row, target: opener.open(row) }));
  const held = opened.flatMap(({ row, target }) => (target ? [] : [row]));
  const cursor = writeCursor(cursorBefore(held, revision, shared));
  if (cursor === since) return undefined;
  return {
    cursor,
    full,
    assignments: opened.flatMap(({ row, target }) => (target ? [assignmentTo(row, target)] : [])),
    removed: changed.filter((row) => !row.ours).map((row) => row.id),
  };
}

/** The same from every server, and not the organization's id: an agent need not know its tenants. */
const tenantOf = (org: string): string => hash('sha256', `tenant ${org}`, 'base64url').slice(0, 16);

const assignmentTo = (row: AssignmentRow, target: Target): Assignment => {
  const common = {
    id: row.id,
    tenant: tenantOf(row.org_id),
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
