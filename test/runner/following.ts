import asyncHooks, { type AsyncHook, type HookCallbacks } from 'node:async_hooks';

// node:test follows every promise, timer and socket back to the test that it comes from. While a file is read, it needs to: a test that is
// declared belongs to that file. While tests run, it only tells whose an uncaught error is, and makes each `await` twenty times as dear.
// So it rests by then, and what is thrown beside a test fails the file as a whole: ./process.ts.
// Loaded with --import, since node:test takes `createHook` along when it is loaded itself.

const hooks: AsyncHook[] = [];
const { createHook } = asyncHooks;

function createKnownHook(callbacks: HookCallbacks): AsyncHook {
  const hook = createHook(callbacks);
  hooks.push(hook);
  return hook;
}

Object.assign(asyncHooks, { createHook: createKnownHook });
process.getBuiltinModule('node:test');
Object.assign(asyncHooks, { createHook });

/** From now on what is declared belongs to whatever declares it. */
export function followTests(): void {
  for (const hook of hooks) hook.enable();
}

export function restFollowing(): void {
  for (const hook of hooks) hook.disable();
}

/** What node:test keeps of a test, as far as it matters here. */
interface KnownTest {
  finalize(): void;
  subtests: unknown[];
  hooks: object;
  fn: unknown;
}

let isForgetting = false;

/**
 * node:test keeps every test to the end of the process, with its function, its hooks and the tests in it; and these keep the servers that they
 * closed. Of a test that has ended, which has been told of, it asks no more than how it ended. Given one test, this holds for all.
 */
export function forgetEndedTests(test: object): void {
  if (isForgetting) return;
  isForgetting = true;
  let of = test as KnownTest;
  while (!Object.hasOwn(of, 'finalize')) of = Object.getPrototypeOf(of);
  const { finalize } = of;
  of.finalize = function finalizeAndForget(this: KnownTest) {
    finalize.call(this);
    this.subtests = [];
    this.hooks = { before: [], after: [], beforeEach: [], afterEach: [], ownAfterEachCount: 0 };
    this.fn = undefined;
  };
}
