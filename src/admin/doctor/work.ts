import { listServers } from '../../kernel/data/servers.ts';
import type { Db, Tx } from '../../kernel/db/index.ts';
import { jobAdmin, jobFigures } from '../../kernel/jobs/index.ts';
import { now } from '../../kernel/time.ts';
import { type Finding, ok, warn } from './finding.ts';

export interface Work {
  servers: number;
  dead: number;
  oldestDueSeconds: number;
  lane: string;
  /** Tasks that should have begun more than a minute ago. */
  late: string[];
  failing: { name: string; failures: number; error: string }[];
}

export function judgeWork(w: Work): Finding[] {
  const found: Finding[] = [];
  if (w.dead)
    found.push(
      warn('jobs', `${w.dead} were given up after their last attempt; see \`quarterdeck admin jobs list\`, then retry or drop them`),
    );
  // Without a server everything waits, and that is no news.
  if (w.servers && w.oldestDueSeconds > 60)
    found.push(
      warn(
        'jobs',
        `the lane ${w.lane} has work that waits since ${Math.round(w.oldestDueSeconds)} s; see \`quarterdeck admin jobs list --due\`, and run a server with the role worker`,
      ),
    );
  if (w.servers && w.late.length)
    found.push(warn('tasks', `${w.late.join(', ')} should have run more than a minute ago; run a server with the role worker`));
  for (const { name, failures, error } of w.failing) found.push(warn('tasks', `${name} failed ${failures} times in a row: ${error}`));
  if (!found.some((f) => f.check === 'jobs')) found.unshift(ok('jobs', 'none was given up, none waits too long'));
  if (!found.some((f) => f.check === 'tasks')) found.push(ok('tasks', w.servers ? 'all run on time' : 'no server runs now'));
  return found;
}

const lateAfterMs = 60_000;
const failuresInARow = 3;

export const checkWork = (db: Db): Promise<Finding[]> => db.read(async (tx) => judgeWork(await workOf(tx)));

async function workOf(tx: Tx): Promise<Work> {
  const { lanes, dead } = await jobFigures(tx);
  const tasks = await jobAdmin.listTasks(tx);
  const at = Date.parse(await now(tx));
  const oldest = lanes.reduce((a, b) => (b.oldest_due_seconds > a.oldest_due_seconds ? b : a));
  return {
    servers: (await listServers(tx)).length,
    dead,
    oldestDueSeconds: oldest.oldest_due_seconds,
    lane: oldest.lane,
    late: tasks.filter((t) => !t.running && at - Date.parse(t.next_at) > lateAfterMs).map((t) => t.name),
    failing: tasks
      .filter((t) => t.failures >= failuresInARow)
      .map((t) => ({ name: t.name, failures: t.failures, error: t.last_error ?? 'no reason' })),
  };
}
