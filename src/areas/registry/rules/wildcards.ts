// Wildcard patterns of customers, for tags, repositories and CI subjects. They are not compiled to regular expressions and never backtrack,
// so a hostile pattern costs no more than any other.

/** Limit on the wildcards of a pattern, because each adds to the cost of matching. */
export const maxWildcards = 16;

const runs = /\*+/g;

/** An error sentence if a pattern has too many wildcards. Several in a row count as one. */
export const tooManyWildcards = (pattern: string): string | undefined => {
  const count = pattern.match(runs)?.length ?? 0;
  return count > maxWildcards ? `a pattern has at most ${maxWildcards} wildcards, not ${count}; write several patterns instead` : undefined;
};

export type Matches = (text: string) => boolean;

/** `*` matches any run of characters. The pieces between are searched from left to right, each once. */
export function compileGlob(pattern: string): Matches {
  const pieces = pattern.split(runs);
  const first = pieces.shift()!;
  const last = pieces.pop();
  if (last === undefined) return (text) => text === pattern;
  return (text) => {
    const end = text.length - last.length;
    if (end < first.length || !text.startsWith(first) || !text.endsWith(last)) return false;
    let at = first.length;
    for (const piece of pieces) {
      const found = text.indexOf(piece, at);
      if (found < 0 || found + piece.length > end) return false;
      at = found + piece.length;
    }
    return true;
  };
}

/**
 * `*` stays inside one part of a text (parts end at `separator`), `**` crosses parts. All states are followed at once, one bit each: the
 * cost is the text's length times the number of 32-bit words.
 */
export function compileParts(pattern: string, separator: string): Matches {
  const steps = pattern.match(/\*+|[^*]/g) ?? [];
  const words = (steps.length >> 5) + 1;
  const set = (bits: Uint32Array, place: number) => {
    bits[place >> 5]! |= 1 << (place & 31);
  };
  const wild = new Uint32Array(words);
  const crossing = new Uint32Array(words);
  const taking = new Map<string, Uint32Array>();
  for (const [place, step] of steps.entries()) {
    if (step.startsWith('*')) {
      set(wild, place);
      if (step.length > 1) set(crossing, place);
      continue;
    }
    if (!taking.has(step)) taking.set(step, new Uint32Array(words));
    set(taking.get(step)!, place);
  }
  const nothing = new Uint32Array(words);
  return (text) => {
    let [at, next] = [new Uint32Array(words), new Uint32Array(words)];
    at[0] = wild[0]! & 1 ? 3 : 1; // a wildcard may match nothing
    for (const char of text.split('')) {
      const takes = taking.get(char) ?? nothing;
      const stays = char === separator ? crossing : wild;
      if (!advance(at, next, { takes, stays, wild })) return false;
      [at, next] = [next, at];
    }
    return (at[steps.length >> 5]! & (1 << (steps.length & 31))) !== 0;
  };
}

interface Transition {
  /** States that advance with this character, and states that stay. */
  takes: Uint32Array;
  stays: Uint32Array;
  wild: Uint32Array;
}

/** Consumes one character. False: no state is left. Wildcards are never adjacent, so each is skipped at most once. */
function advance(at: Uint32Array, next: Uint32Array, { takes, stays, wild }: Transition): boolean {
  let [carried, entered, any] = [0, 0, 0];
  for (let w = 0; w < at.length; w++) {
    const moved = at[w]! & takes[w]!;
    const here = (moved << 1) | carried | (at[w]! & stays[w]!);
    carried = moved >>> 31;
    const over = here & wild[w]!;
    next[w] = here | (over << 1) | entered;
    entered = over >>> 31;
    any |= next[w]!;
  }
  return any !== 0;
}
