import type { RequestInfo } from '../../rules/kubernetes/request-info.ts';
import type { Caller } from './caller.ts';
import type { UnreadAccount } from './unread.ts';

/** One request, once it is known who asks for what. */
export interface Call {
  requestInfo: RequestInfo;
  caller: Caller;
  /** The body as JSON would have it, whatever it came as; undefined if there was none. */
  body: unknown;
  contentType: string;
  /** The header, for those who choose between forms that only they have. */
  accept: string;
  /** How objects are shown. */
  representation: Representation;
  /** Ends when the caller is gone. */
  signal: AbortSignal;
  /** What is kept for it until it reads it. */
  unread: UnreadAccount;
}

export interface Representation {
  as: 'object' | 'table' | 'metadata';
  /** Of tables: what stands in each row beside its cells. */
  rowObject: 'None' | 'Metadata' | 'Object';
}

/** What goes back: one value, or pieces of text as they come. */
export type Reply =
  | { status: number; body: unknown; warnings?: string[]; contentType?: string }
  | { status: 200; pieces: AsyncIterable<string>; isWatch: boolean };
