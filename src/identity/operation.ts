import type { Readable } from 'node:stream';
import type { Answer, Body, Op, OpSpec, Params, Query } from '../../contract/common.ts';
import type { App } from '../kernel/app.ts';
import { Endless, type EventSink } from '../kernel/http/endless.ts';
import type { CtxOf } from './context.ts';
import type { Principal } from './principal.ts';

export interface Input<S extends OpSpec> {
  ctx: CtxOf<S>;
  params: Params<S>;
  query: Query<S>;
  body: Body<S>;
}

/** `Own`: the running state of its area, as `open` makes it. */
export interface Operation<Own = never> {
  spec: Op;
  // Each handler is checked against its own spec where it is written; here their types are erased.
  handle: (input: { ctx: never; params: never; query: never; body: never }, own: Own) => Promise<AnyAnswer>;
  remember?: Remember;
  unreadable?: Unreadable;
  /** An urgent operation: it does not wait for other work of its organization and is not throttled, unless it comes in a flood. */
  isUrgent?: boolean;
}

/** Keeps the answer of a GET in memory, for this caller and URL, until one of the topics is dropped: 0 SQL while nothing changes. */
export type Remember = (principal: Principal) => string[];

/** Called with the reason when the body of a known sender cannot be read: for senders that ignore answers. */
export type Unreadable = (app: App, principal: Principal, why: string) => Promise<unknown>;

export interface AnyAnswer {
  status: number;
  body: unknown;
  location?: string;
  replayed?: true;
}

/** Binds a handler to its operation: it can only give the answers that the contract declares. */
export const operation = <S extends OpSpec, Own = unknown>(
  spec: Op<S>,
  handle: (input: Input<S>, own: Own) => Promise<Answer<S>>,
  options: Pick<Operation, 'remember' | 'unreadable' | 'isUrgent'> = {},
): Operation<Own> => ({
  spec,
  handle: handle as unknown as Operation<Own>['handle'],
  ...options,
});

/** A streamed text: a large one does not block other requests. Only for operations that `produce` a text. */
export const okInPieces = (body: Readable) => ({ status: 200 as const, body: body as unknown as string });

/** An answer to which pieces are added until one side ends it. Only for operations that produce a stream of events. */
export const endless = (begin: (sink: EventSink) => void) => ({ status: 200 as const, body: new Endless(begin) as unknown as string });

export const ok = <B>(body: B) => ({ status: 200 as const, body });
/** `location`: the path of what was made, below /api/v1. */
export const created = <B>(body: B, location?: string) => ({
  status: 201 as const,
  body,
  ...(location ? { location: `/api/v1${location}` } : {}),
});
export const noContent = () => ({ status: 204 as const, body: undefined });
