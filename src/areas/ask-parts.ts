import type { Ctx } from '../identity/context.ts';
import { DatabaseBusy, isUnavailable } from '../kernel/db/index.ts';
import type { Bound } from './ports.ts';

/** How long a part may take; the whole answer takes no longer. */
const deadlineMs = 2_000;

export interface Asked<Answer> {
  parts: { area: string; answer: Answer }[];
  unavailable: { area: string; reason: string }[];
}

/** Parts of the services that the organization is entitled to, each on a connection of its own: none waits for another's statements. */
export async function askParts<Rest extends unknown[], Answer>(
  ctx: Ctx,
  parts: readonly Bound<Rest, Answer>[],
  ...rest: Rest
): Promise<Asked<Answer>> {
  const open = parts.filter(({ entitlement }) => !entitlement || ctx.principal.entitlements.has(entitlement));
  const outcomes = await Promise.all(open.map((part) => askPart(ctx, part, rest)));
  const failures = outcomes.filter((outcome) => 'error' in outcome);
  // Nothing was read: then the whole request is unavailable, as everywhere else.
  if (failures.length && failures.length === outcomes.length) throw failures[0]!.error;
  const reasons = new Map(failures.map(({ area, error }) => [area, reasonOf(error)]));
  // A database that is away is told by its own events, and a tenant's overload is no error of the server: else each request writes a line an area.
  for (const { area, error } of failures)
    if (!(error instanceof Late) && !isUnavailable(error)) ctx.app.log.error({ err: error, area }, 'an area could not fill its part');
  return {
    parts: outcomes.filter((outcome) => 'answer' in outcome),
    unavailable: [...reasons].map(([area, reason]) => ({ area, reason })),
  };
}

class Late extends Error {}

type Outcome<Answer> = { area: string; answer: Answer } | { area: string; error: unknown };

async function askPart<Rest extends unknown[], Answer>(
  ctx: Ctx,
  { area, read }: Bound<Rest, Answer>,
  rest: Rest,
): Promise<Outcome<Answer>> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Late()), deadlineMs);
  });
  const reading = ctx.read((tx) => read(tx, ctx, ...rest));
  reading.catch(() => {}); // it may fail after its deadline
  try {
    return { area, answer: await Promise.race([reading, late]) };
  } catch (error) {
    return { area, error };
  } finally {
    clearTimeout(timer);
  }
}

function reasonOf(error: unknown): string {
  if (error instanceof Late) return `it did not answer within ${deadlineMs / 1000} seconds; ask again`;
  if (error instanceof DatabaseBusy) return `${error.message}; ask again in a moment`;
  if (isUnavailable(error)) return 'the database did not answer; ask again';
  return 'it failed; the log of the server says why';
}
