import Type from 'typebox';
import { rows, run, type Tx } from '../../kernel/db.ts';
import { conflict, unauthenticated } from '../../kernel/errors.ts';

// A token and the tokens that it was minted by are a line. What is minted ends when anything above it in its line does.

/** Generations in a line: more are a program that mints in a circle. `identity.token.minters` is checked against it too. */
const mostGenerations = 10;

/** What a caller mints with: the tokens that the new credential will hang on, the caller's own last, and when the first of them ends. */
export interface Line {
  minters: string[];
  endsAt: string;
  secondsLeft: number;
}

const LineRow = Type.Object({
  alive: Type.Boolean(),
  expires_at: Type.String(),
  seconds_left: Type.Number(),
  line: Type.Array(Type.String()),
});

/**
 * Locks the calling token and those above it until what it mints is committed: whoever revokes one of them meanwhile waits, and then
 * finds the new one too. A token that was revoked a moment ago, while it was still remembered, mints nothing. Not a shared lock: those
 * overtake whoever waits for one of their own, so that a token which mints without pause could never be revoked.
 */
export async function lockLine(tx: Tx, org: string, tokenId: string): Promise<Line> {
  const tokens = await rows(tx, LineRow)`
    select m.enabled and m.expires_at > kernel.now() as alive, m.expires_at,
           extract(epoch from m.expires_at - kernel.now())::float8 as seconds_left, t.minters || t.id as line
      from identity.token t join identity.token m on m.org_id = t.org_id and m.id = any(t.minters || t.id)
     where t.org_id = ${org} and t.id = ${tokenId}
     order by m.id for no key update of m`;
  const [first] = tokens.toSorted((a, b) => a.seconds_left - b.seconds_left);
  if (!first || tokens.length !== first.line.length || !tokens.every((t) => t.alive))
    return unauthenticated('unauthenticated: the token is disabled, expired or revoked');
  return { minters: first.line, endsAt: first.expires_at, secondsLeft: first.seconds_left };
}

/** Refuses a further personal token at the end of a long line; logins, which mint nothing, are let be. */
export function requireRoom({ minters }: Line) {
  if (minters.length >= mostGenerations)
    conflict(`the token was minted by a line of ${minters.length - 1} others, and none longer is kept; mint with one of those before it`);
}

/** Whether a token is another one, or was minted by it or by one that it minted. */
export const isOfLine = async (tx: Tx, org: string, tokenId: string, above: string): Promise<boolean> =>
  tokenId === above ||
  (await run(tx)`select 1 from identity.token where org_id = ${org} and id = ${tokenId} and ${above} = any(minters)`) > 0;

const EndedRow = Type.Object({ id: Type.String(), name: Type.String() });
type Ended = { id: string; name: string };

/** The token, and all that it minted, in the order in which everybody locks tokens. Lock the token itself first: see `lockLine`. */
export async function deleteLine(tx: Tx, org: string, user: string, id: string): Promise<Ended[]> {
  const line = await rows(tx, EndedRow)`
    select id, name from identity.token where org_id = ${org} and user_id = ${user} and (id = ${id} or ${id} = any(minters))
     order by id for update`;
  await run(tx)`delete from identity.token where org_id = ${org} and id = any(${line.map((t) => t.id)})`;
  return line;
}
