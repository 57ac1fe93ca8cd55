// The events of a stream, as text/event-stream writes them. Nothing in them is written by tenants, so no line needs an escape.

const event = (name: string, data: unknown): string => `event: ${name}\ndata: ${JSON.stringify(data)}\n\n`;

/** A comment: it says that the stream is alive, to the reader and to proxies in between. */
export const beat = ': beat\n\n';

export interface Hello {
  version: string;
  organization: string;
  kinds: readonly string[];
  /** When to come back if the stream breaks off without a word. */
  retryAfterMs: number;
}

export const hello = ({ version, organization, kinds, retryAfterMs }: Hello): string =>
  `retry: ${retryAfterMs}\n${event('hello', { version, organization, kinds })}`;

export const changed = (kinds: readonly string[]): string => event('changed', { kinds });

/** What the caller may do is not what it was: so may be the kinds that it hears. */
export const rights = (kinds: readonly string[]): string => event('rights', { kinds });

/** Hints may be missing from here on. */
export const deaf = event('deaf', {});

/** The last event, of a caller who may not listen any more. */
export const refused = (status: number, code: string, error: string): string => event('refused', { status, code, error });

/** The last event, of a server that stops. */
export const bye = (retryAfterMs: number): string => `retry: ${retryAfterMs}\n${event('bye', { retryAfterMs })}`;
