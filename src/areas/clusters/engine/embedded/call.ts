import type { RequestInfo } from '../../rules/kubernetes/request-info.ts';
import type { Caller } from './caller.ts';
import type { UnreadAccount } from './unread-bytes.ts';

/** One request, after authentication and authorization. */
export interface Call {
  requestInfo: RequestInfo;
  caller: Caller;
  /** The body decoded to JSON values, also if it was protobuf; undefined without a body. */
  body: unknown;
  contentType: string;
  /** The Accept header, for aggregated discovery. */
  accept: string;
  /** The representation that the client asked for: objects, tables or metadata only. */
  representation: Representation;
  /** Aborted when the client disconnects. */
  signal: AbortSignal;
  /** Counts bytes that are buffered for the client until it reads them. */
  unread: UnreadAccount;
}

export interface Representation {
  as: 'object' | 'table' | 'metadata';
  /** Tables only: what each row carries beside its cells. */
  rowObject: 'None' | 'Metadata' | 'Object';
}

/** The response: one value, or chunks of text. */
export type Reply =
  | { status: number; body: unknown; warnings?: string[]; contentType?: string }
  | { status: 200; chunks: AsyncIterable<string>; isWatch: boolean };
