import type { Session } from '../session.ts';

/** A command's work and everything under it are loaded when the command runs: help and completion need none of it. */
export const atDatabase =
  <A extends unknown[]>(load: () => Promise<(session: Session, ...args: A) => Promise<void>>) =>
  async (...args: A): Promise<void> => {
    const [{ withSession }, work] = await Promise.all([import('../session.ts'), load()]);
    await withSession((session) => work(session, ...args));
  };

export const lazily =
  <A extends unknown[]>(load: () => Promise<(...args: A) => Promise<void>>) =>
  async (...args: A): Promise<void> =>
    (await load())(...args);
