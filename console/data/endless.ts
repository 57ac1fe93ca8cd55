import { useMemo, useRef } from 'preact/hooks';
import { type Api, api, sentenceOf } from './api.ts';
import { say } from './notices.ts';
import { organization } from './place.ts';
import { queries, useQuery } from './query.ts';

// Lists that come in portions, by cursor. The first portions are live: a hint asks for them again. A list that was read further stays as it
// is, since asking for all of it anew would cost hundreds of requests; the screen says so and offers to read from the top.

export interface Portion<Row> {
  rows: readonly Row[];
  cursor?: string | undefined;
}

interface Held<Row> {
  portions: readonly (readonly Row[])[];
  cursor?: string | undefined;
  /** Something may have changed since it was read. */
  isOld?: boolean;
}

export interface Endless<Row> {
  /** While another filter is asked for, the rows of the last one. */
  rows: readonly Row[] | undefined;
  error: Error | undefined;
  isMore: boolean;
  isOld: boolean;
  /** The next portion. */
  more(): void;
  again(): Promise<unknown>;
  /** Takes rows out that were deleted, before the server is asked. */
  drop(isGone: (row: Row) => boolean): void;
}

const livePortions = 4;

interface Asked<Row> {
  key: readonly unknown[];
  kinds: readonly string[];
  ask(client: Api, cursor: string | undefined, signal?: AbortSignal): Promise<Portion<Row>>;
  isOff?: boolean;
}

export function useEndless<Row>({ key, kinds, ask, isOff = false }: Asked<Row>): Endless<Row> {
  const whole = [organization.value, ...key];
  const hash = JSON.stringify(whole);
  const opened = useRef<string>(undefined);
  if (opened.current !== hash) {
    opened.current = hash;
    // What an earlier visit read far down is not kept: this one begins at the top.
    if ((queries.getQueryData<Held<Row>>(whole)?.portions.length ?? 0) > 1) queries.removeQueries({ queryKey: whole, exact: true });
  }
  const reading = useQuery<Held<Row>>({
    key,
    kinds,
    isOff,
    ask: async (client, signal) => {
      const held = queries.getQueryData<Held<Row>>(whole);
      if (held && held.portions.length > livePortions) return { ...held, isOld: true };
      const portions: (readonly Row[])[] = [];
      let cursor: string | undefined;
      do {
        const portion = await ask(client, cursor, signal);
        portions.push(portion.rows);
        cursor = portion.cursor;
      } while (cursor && portions.length < (held?.portions.length ?? 1));
      return { portions, cursor };
    },
  });
  const isAsking = useRef(false);
  const held = reading.data;
  const rows = useMemo(() => held?.portions.flat(), [held]);
  const shown = useRef(rows);
  if (rows) shown.current = rows;
  const more = async () => {
    const cursor = held?.cursor;
    if (!cursor || isAsking.current) return;
    isAsking.current = true;
    try {
      const portion = await ask(api(), cursor);
      queries.setQueryData<Held<Row>>(whole, (now) =>
        now?.cursor === cursor ? { ...now, portions: [...now.portions, portion.rows], cursor: portion.cursor } : now,
      );
    } catch (error) {
      say(`The list cannot be read on: ${sentenceOf(error)}`, 'bad');
    } finally {
      isAsking.current = false;
    }
  };
  return {
    rows: reading.error ? rows : shown.current,
    error: reading.error,
    isMore: held?.cursor !== undefined,
    isOld: held?.isOld ?? false,
    more: () => void more(),
    again: () => queries.resetQueries({ queryKey: whole, exact: true }),
    drop: (isGone) =>
      queries.setQueryData<Held<Row>>(
        whole,
        (now) => now && { ...now, portions: now.portions.map((portion) => portion.filter((row) => !isGone(row))) },
      ),
  };
}
