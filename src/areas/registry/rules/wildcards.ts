// Patterns with wildcards, as customers write them: tags, repositories, subjects of CI jobs. None of them becomes a regular expression,
// and none goes back over what it has read: a pattern that somebody made to be slow costs no more than any other.

/** More than these nobody needs, and each one costs whoever looks for a match. */
export const mostWildcards = 16;

const runs = /\*+/g;

/** A sentence when a pattern has more wildcards than one may have. Several in a row are one. */
export const tooManyWildcards = (pattern: string): string | undefined => {
  const count = pattern.match(runs)?.length ?? 0;
  return count > mostWildcards
    ? `a pattern has at most ${mostWildcards} wildcards, not ${count}; write several patterns instead`
    : undefined;
};

export type Matches = (text: string) => boolean;

/** `*` stands for any run of characters. The pieces between are looked for from left to right, each once. */
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

/** `*` stays inside one part of a text (parts end at `separator`), `**` crosses them. All ways through the pattern are followed at
 *  once, one bit each: a text costs its length times the words that hold the pattern's bits. */
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
    at[0] = wild[0]! & 1 ? 3 : 1; // a wildcard may also stand for nothing
    for (const char of text.split('')) {
      const takes = taking.get(char) ?? nothing;
      const stays = char === separator ? crossing : wild;
      if (!advance(at, next, { takes, stays, wild })) return false;
      [at, next] = [next, at];
    }
    return (at[steps.length >> 5]! & (1 << (steps.length & 31))) !== 0;
  };
}

interface Moves {
  /** Where this character leads one step on, and where it leaves us. */
  takes: Uint32Array;
  stays: Uint32Array;
  wild: Uint32Array;
}

/** One character further. False: no way leads on. No two wildcards are neighbours, so each is stepped over at most once. */
function advance(at: Uint32Array, next: Uint32Array, { takes, stays, wild }: Moves): boolean {
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
