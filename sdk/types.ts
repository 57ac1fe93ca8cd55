export interface ClientOptions {
  /** Where the server is, without /api/v1. */
  url: string;
  /** Without one, a page of the server itself acts with the session of its reader: the browser sends the cookie. */
  token?: string | undefined;
  /** The slug of the organization to act in. A session of several organizations needs one; a token of another one is refused. */
  organization?: string | undefined;
  /** Whether the program asks by itself, without its user: such a request keeps no session alive. */
  background?: boolean | (() => boolean);
  /** How often a request that may be repeated is tried again; 2 unless told. */
  retries?: number;
  /** How long one try may take; 60 s unless told. */
  timeoutMs?: number;
  /** Browsers send their own. */
  userAgent?: string;
  fetch?: typeof fetch;
}

export interface CallOptions {
  signal?: AbortSignal;
  /** For a POST that must happen once, even when a later process repeats it. Each call has a key of its own unless told. */
  idempotencyKey?: string;
  /** For this call, whatever the client says. */
  background?: boolean;
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
