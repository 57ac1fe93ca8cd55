/**
 * Loaded into a server with --import: it kills itself, as kill -9 would, at the Nth statement of those that touch a schema.
 * QD_DIE_AT=<schema>:<before|after>:<n>, where `after` means: the database has answered, and the program has not heard it.
 * A commit counts when its transaction touched the schema.
 */
import pg from 'pg';
import { currentContext } from '../../../src/kernel/fairness/index.ts';

const [schema = '', moment, nth] = (process.env.QD_DIE_AT ?? '').split(':');

/** Periodic tasks run whatever a test does, so counting their statements would move the Nth one. */
async function tasksOf(area: string): Promise<Set<string>> {
  const declared: Record<string, unknown> = await import(`../../../src/areas/${area}/tasks.ts`);
  const tasks = Object.values(declared).flat() as { name?: string; everySeconds?: number }[];
  return new Set(tasks.flatMap(({ name, everySeconds }) => (name && everySeconds ? [name] : [])));
}
const tasks = schema ? await tasksOf(schema.split(' ').at(-1)!) : new Set();

/** Run by timers of their own. */
const heartbeats = /email\.(?:holder|held_away|queue_change|queue_figure)\b/;
const isByTheClock = (text: string) => tasks.has(currentContext().operation) || heartbeats.test(text);

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
