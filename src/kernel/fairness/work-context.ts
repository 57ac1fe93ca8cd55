import { AsyncLocalStorage } from 'node:async_hooks';
import type { LoopWatch, WorkContext } from './types.ts';

/**
 * Carried by AsyncLocalStorage instead of a parameter: some hundred functions lie between a request and a statement, and one that forgot to
 * pass the parameter on would leave an invisible hole (docs/decisions/0014).
 */
const contexts = new AsyncLocalStorage<{ context: WorkContext; watch: LoopWatch | undefined }>();

/** Work for no tenant: startup, monitoring, and the tests' own calls. */
export const systemContext: WorkContext = { org: '', operation: 'house', isSystem: true };

/**
 * The context of a batch with items of these organizations; an organization is listed once for each of its items. The batch itself is never
 * throttled: a tenant over its share must not delay the others in the batch. Its event-loop time is charged to the tenants in proportion.
 */
export function batchContext(act: string, orgs: readonly string[]): WorkContext {
  const parts = new Map<string, number>();
  for (const org of orgs) parts.set(org, (parts.get(org) ?? 0) + 1 / orgs.length);
  return { ...systemContext, operation: act, orgShares: parts };
}

export const currentContext = (): WorkContext => contexts.getStore()?.context ?? systemContext;

/** Runs work in a context. Everything that the work starts belongs to that context, also after an await. */
export function runFor<T>(context: WorkContext, work: () => T, watch?: LoopWatch): T {
  return contexts.run({ context, watch: watch ?? contexts.getStore()?.watch }, () => {
    watch?.resume(context);
    return work();
  });
}

/** Switches the rest of this work to another context, once the caller is known. The code that awaits this work keeps its own. */
export function switchContext(context: WorkContext): void {
  const watch = contexts.getStore()?.watch;
  contexts.enterWith({ context, watch });
  watch?.resume(context);
}

/** Like `runFor` for many calls in one context; the async snapshot is taken once. */
export function bindContext(context: WorkContext): <Args extends unknown[], T>(work: (...args: Args) => T, ...args: Args) => T {
  return runFor(context, () => AsyncLocalStorage.snapshot());
}

/** Call after long work has waited for anything but the database: event-loop time is charged to this context again. */
export function resume(): void {
  const doing = contexts.getStore();
  doing?.watch?.resume(doing.context);
}

/** Whether the event loop is busy now; false where no watch runs. */
export const isLoopBusy = (): boolean => contexts.getStore()?.watch?.isBusy() ?? false;
