export interface ClientOptions {
  /** Where the server is, without /api/v1. */
  url: string;
  token?: string | undefined;
  /** How often a request that may be repeated is tried again; 2 unless told. */
  retries?: number;
  /** How long one try may take; 60 s unless told. */
  timeoutMs?: number;
  userAgent?: string;
  fetch?: typeof fetch;
}

export interface CallOptions {
  signal?: AbortSignal;
  /** For a POST that must happen once, even when a later process repeats it. Each call has a key of its own unless told. */
  idempotencyKey?: string;
}

/** A list that comes in pages: called, it answers with one; `pages` walks them all. */
export type Paged<Call extends (...args: never[]) => Promise<unknown>> = Call & {
  pages(...args: Parameters<Call>): AsyncGenerator<Awaited<ReturnType<Call>>, void>;
};

/** What the client must know of an operation to send it. */
export interface Operation {
  method: string;
  /** Below /api/v1, with {name} parameters. */
  path: string;
  query?: string[];
  body?: 'object' | 'optional' | 'list';
  /** The server keeps its Idempotency-Key. */
  idempotent?: boolean;
  paged?: boolean;
  /** The media type of its answer, where that is not JSON. */
  streams?: string;
}
