import type { App } from '../../../kernel/app.ts';
import type { Storage } from '../../../kernel/storage/index.ts';

/** Where a process dies, as suddenly as by kill -9: around the nth storage step or transaction. */
export interface CrashPoint {
  /** In answers to clients, or in garbage collection. */
  who: 'serve' | 'collect';
  what: 'commit' | 'remove' | 'chunk' | 'transaction';
  /** `before`: the transaction's work is done but not committed. `after`: it is committed, but no caller knows yet. */
  when: 'before' | 'after';
  nth: number;
}

/** Every step after which a crash could lose something. */
export const crashPoints: Omit<CrashPoint, 'nth'>[] = [
  { who: 'serve', what: 'chunk', when: 'after' },
  { who: 'serve', what: 'commit', when: 'before' },
  { who: 'serve', what: 'commit', when: 'after' },
  { who: 'serve', what: 'remove', when: 'before' },
  { who: 'serve', what: 'remove', when: 'after' },
  { who: 'serve', what: 'transaction', when: 'before' },
  { who: 'serve', what: 'transaction', when: 'after' },
  { who: 'collect', what: 'remove', when: 'before' },
  { who: 'collect', what: 'remove', when: 'after' },
  { who: 'collect', what: 'transaction', when: 'before' },
  { who: 'collect', what: 'transaction', when: 'after' },
];

/** The application, wrapped to die at the given point. */
export function mortal(app: App, who: CrashPoint['who'], point: CrashPoint | undefined): App {
  if (point?.who !== who) return { ...app };
  let left = point.nth;
  const pass = async (what: CrashPoint['what'], when: CrashPoint['when']) => {
    if (what !== point.what || when !== point.when || --left > 0) return;
    process.kill(process.pid, 'SIGKILL');
    await new Promise(() => {}); // the signal is under way; nothing more is done
  };
  const around = async <T>(what: CrashPoint['what'], act: () => Promise<T>): Promise<T> => {
    await pass(what, 'before');
    const done = await act();
    await pass(what, 'after');
    return done;
  };
  async function* chunks(body: AsyncIterable<Uint8Array>) {
    for await (const chunk of body) {
      yield chunk;
      await pass('chunk', 'after');
    }
  }
  const storage: Storage = {
    ...app.storage,
    commit: (...args) => around('commit', () => app.storage.commit(...args)),
    remove: (...args) => around('remove', () => app.storage.remove(...args)),
    append: (id, offset, body) =>
      app.storage.append(id, offset, Symbol.asyncIterator in Object(body) ? chunks(body as AsyncIterable<Uint8Array>) : body),
  };
  const write: App['db']['write'] = async (work) => {
    const done = await app.db.write(async (tx) => {
      const value = await work(tx);
      await pass('transaction', 'before');
      return value;
    });
    await pass('transaction', 'after');
    return done;
  };
  return { ...app, storage, db: { ...app.db, write } };
}
