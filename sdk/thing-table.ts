// The shape of generated/things.json.

/** How people name a thing, and where its ids are found. As contract/things.ts has it. */
export interface Thing {
  word: string;
  id: string;
  prefix?: string;
  alsoIds?: string[];
  names?: string[];
  list?: { operation: string; items: string; params?: number };
  builtin?: string[];
  narrowedBy?: string;
}

export interface Creation {
  thing: string;
  at?: string;
  next: string[];
}

export interface Loss {
  thing?: string;
  word?: string;
  fields?: string[];
  done: string;
  loses: string;
  forGood?: true;
}

export interface Watch {
  thing: string;
  look: string;
  at?: string;
  among?: true;
  state: string;
  done: string[];
  failed: string[];
  reason?: string;
  nudge?: string;
  command: string;
}

export interface Wait {
  watch: string;
  gone?: true;
  wanted?: string[];
  mayBeStale?: true;
}

export interface Things {
  things: Record<string, Thing>;
  creations: Record<string, Creation>;
  losses: Record<string, Loss>;
  watches: Record<string, Watch>;
  waits: Record<string, Wait>;
}
