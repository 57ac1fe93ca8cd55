import type { Kinds } from './rounds.ts';

export type Liveness = 'connecting' | 'live' | 'polling' | 'offline';

/** What the tab with the stream tells the others, and what a tab that was just opened asks. */
export interface Told {
  kinds?: Kinds;
  liveness?: Liveness;
  version?: string;
  /** How do things stand? */
  asks?: true;
}

const livenesses: ReadonlySet<unknown> = new Set<Liveness>(['connecting', 'live', 'polling', 'offline']);

/** The other tab may be of another release: what is not understood is left out. */
export function toldIn(data: unknown): Told {
  if (typeof data !== 'object' || data === null) return {};
  const { kinds, liveness, version, asks } = data as Record<string, unknown>;
  return {
    ...(kinds === 'all' ? { kinds } : Array.isArray(kinds) ? { kinds: kinds.filter((kind) => typeof kind === 'string') } : {}),
    ...(livenesses.has(liveness) ? { liveness: liveness as Liveness } : {}),
    ...(typeof version === 'string' && version ? { version } : {}),
    ...(asks === true ? { asks } : {}),
  };
}
