import type { Tx } from '../../../kernel/db/index.ts';
import type { UnreadAccount } from '../../driver.ts';
import type { RequestInfo } from '../rules/request-info.ts';
import type { User } from './cluster.ts';

/** An authenticated caller whose permissions can be checked again. */
export interface Caller {
  user: User;
  /** Quarterdeck itself, which may use the reserve of a full store. */
  isInternal?: boolean;
  /** Objects whose deletion ends the credential. */
  credentialObjects: readonly string[];
  /** Runs in the write's transaction, before any other lock. It serializes the write with revocations outside the cluster. */
  lock(tx: Tx): Promise<void>;
  /** Throws 401 or 403 if the request would be refused now. */
  check(tx: Tx): Promise<void>;
}

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
