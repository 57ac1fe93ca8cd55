import async_hooks, { type AsyncHook } from 'node:async_hooks';

// node:test follows every promise, timer and socket back to the test that it comes from. While a file is read, it needs to: a test that is
// declared belongs to that file. While tests run, it serves to tell whose an uncaught error is, and makes each `await` twenty times as dear,
// which was a third of the CPU of a run. So it rests by then, and what is thrown beside a test fails the file as a whole: ./process.ts.
// Loaded with --import, since node:test takes `createHook` along when it is loaded itself.

const hooks: AsyncHook[] = [];
const { createHook } = async_hooks;

async_hooks.createHook = (callbacks) => {
  const hook = createHook(callbacks);
  hooks.push(hook);
  return hook;
};
process.getBuiltinModule('node:test');
async_hooks.createHook = createHook;

/** From now on what is declared belongs to whatever declares it. */
export function followTests(): void {
  for (const hook of hooks) hook.enable();
}

export function restFollowing(): void {
  for (const hook of hooks) hook.disable();
}
