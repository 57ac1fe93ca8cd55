import { signal } from '@preact/signals';
import { ApiError, api, isCode, isSignedOut, sentenceOf } from './api.ts';
import { areaOf, operationOf } from './commands.ts';
import { say } from './notices.ts';
import { open, organization } from './place.ts';
import { refresh } from './query.ts';

// What people do. A refusal is a sentence on the screen and keeps everything that was typed. A session that has to prove itself again does
// so in another tab, and the same request goes out once more.

interface Asking {
  /** What for, in words. */
  what: string;
  settle(isProven: boolean): void;
}

/** The dialog of shell/step-up.tsx is open while this is set. */
export const asking = signal<Asking | undefined>(undefined);

const askToProve = (what: string): Promise<boolean> =>
  new Promise((resolve) => {
    asking.value?.settle(false);
    const settle = (isProven: boolean) => {
      asking.value = undefined;
      resolve(isProven);
    };
    asking.value = { what, settle };
  });

export interface Act<T> {
  /** Names it where the session must be proven again: “delete the registry shop”. */
  what: string;
  /** Said when it is done. */
  done?: string | ((answer: T) => string);
  /** Kinds that it changes; the stream of changes brings others. */
  kinds?: readonly string[];
  work(): Promise<T>;
}

/** The answer, or undefined after a refusal, which was said. */
export async function act<T>(given: Act<T>): Promise<{ answer: T } | undefined> {
  try {
    return { answer: await attempt(given) };
  } catch (error) {
    if (!(error instanceof Cancelled) && !isSignedOut.value) say(`Not done: ${sentenceOf(error)}`, 'bad');
    return undefined;
  }
}

/** The same for forms, which show the refusal beside their fields. */
export async function attempt<T>({ what, done, kinds, work }: Act<T>): Promise<T> {
  const answer = await proven(what, work);
  void refresh(kinds);
  if (done !== undefined) say(typeof done === 'function' ? done(answer) : done, 'good');
  return answer;
}

/** Leaves the screen of a thing that is gone, before what showed it asks for it again. */
export function leave(to: string, kinds: readonly string[]): void {
  open(to);
  setTimeout(() => void refresh(kinds));
}

export class Cancelled extends Error {
  override name = 'Cancelled';
}

async function proven<T>(what: string, work: () => Promise<T>): Promise<T> {
  try {
    return await counted(work);
  } catch (error) {
    if (!isCode(error, 'reauthenticate')) throw error;
    const slug = organization.value;
    if (!(await askToProve(what))) throw new Cancelled('not done: the session was not confirmed');
    // The request names the organization of the page: after a step back it would do the same to another one.
    if (organization.value !== slug) throw new Error('this page left the organization that it was meant for; go back and do it there');
    return counted(work);
  }
}

let inFlight = 0;

/** While a request of an act is under way, hints wait: after a delete its screen would ask for what is gone. */
export const isActing = (): boolean => inFlight > 0;

async function counted<T>(work: () => Promise<T>): Promise<T> {
  inFlight++;
  try {
    return await work();
  } finally {
    inFlight--;
  }
}

/** Any operation by its name, for forms that are made from the command table. */
export function callOperation(id: string, params: string[], input: Record<string, unknown>): Promise<unknown> {
  const operation = operationOf(id);
  const area = areaOf(id);
  if (!operation || !area) throw new ApiError(404, 'no_such_operation', `this console knows no operation ${id}; reload the page`, {});
  const bound = (api() as unknown as Record<string, Record<string, (...args: unknown[]) => Promise<unknown>>>)[area]![id]!;
  return operation.query || operation.body ? bound(...params, input) : bound(...params);
}
