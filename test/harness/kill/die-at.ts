/**
 * Loaded into a server with --import: it kills itself, as kill -9 would, at the Nth statement of those that touch a schema.
 * QD_DIE_AT=<schema>:<before|after>:<n>, where `after` means: the database has answered, and the program has not heard it.
 * A commit counts when its transaction touched the schema.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import pg from 'pg';

const [schema, moment, nth] = (process.env.QD_DIE_AT ?? '').split(':');

/** Periodic tasks run whatever a test does, so counting their statements would move the Nth one. Their names are their work contexts. */
const tasks = new Set((process.env.QD_TASKS ?? '').split(' '));
interface Working {
  context?: { operation?: string };
}
/** Where the program keeps its work contexts: nothing of it is imported here. */
let contexts: AsyncLocalStorage<Working> | undefined;
const runFor = AsyncLocalStorage.prototype.run;
AsyncLocalStorage.prototype.run = function (this: AsyncLocalStorage<Working>, store: Working, ...rest: unknown[]) {
  if (store?.context?.operation) contexts = this;
  return (runFor as (...given: unknown[]) => unknown).call(this, store, ...rest);
} as typeof runFor;
const isOfTask = () => tasks.has(contexts?.getStore()?.context?.operation ?? '');

/** Run by timers of their own. */
const heartbeats = /email\.(?:holder|held_away|queue_change|queue_figure)\b/;
const isByTheClock = (text: string) => isOfTask() || heartbeats.test(text);

let seen = 0;
const die = () => process.kill(process.pid, 'SIGKILL');
const touched = new WeakSet<object>();

// biome-ignore lint/suspicious/noExplicitAny: every overload of query
const query = pg.Client.prototype.query as (...args: any[]) => any;
// biome-ignore lint/suspicious/noExplicitAny: as above
pg.Client.prototype.query = function (this: object, ...args: any[]) {
  const text: string = typeof args[0] === 'string' ? args[0] : (args[0]?.text ?? '');
  const isCommit = text === 'commit' && touched.delete(this);
  const isOurs = text.includes(`${schema}.`) && !isByTheClock(text);
  if (isOurs) touched.add(this);
  if (!isOurs && !isCommit) return query.apply(this, args);
  seen++;
  if (seen === Number(nth)) {
    if (moment === 'before') die();
    else
      return query.apply(this, args).then((result: unknown) => {
        die();
        return result;
      });
  }
  return query.apply(this, args);
} as typeof pg.Client.prototype.query;
