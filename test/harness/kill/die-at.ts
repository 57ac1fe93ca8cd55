/**
 * Loaded into a server with --import: it kills itself, as kill -9 would, at the Nth statement of those that touch a schema.
 * QD_DIE_AT=<schema>:<before|after>:<n>, where `after` means: the database has answered, and the program has not heard it.
 * A commit counts when its transaction touched the schema.
 */
import pg from 'pg';

const [schema, moment, nth] = (process.env.QD_DIE_AT ?? '').split(':');
/** Statements of periodic tasks and heartbeats. They run whatever a test does, so counting them would move the Nth statement. */
const byTheClock = new RegExp(
  [
    /email\.(?:holder|held_away|queue_change|queue_figure)\b/,
    /^\s*delete from email\.(?:submission|sending_hour|usage|received_usage|received_sender|delivery|webhook_event|segment)\b/,
    /from email\.message\s+where created_at < kernel\.now\(\) - interval '90 days'/,
  ]
    .map(({ source }) => source)
    .join('|'),
);
let seen = 0;
const die = () => process.kill(process.pid, 'SIGKILL');
const touched = new WeakSet<object>();

// biome-ignore lint/suspicious/noExplicitAny: every overload of query
const query = pg.Client.prototype.query as (...args: any[]) => any;
// biome-ignore lint/suspicious/noExplicitAny: as above
pg.Client.prototype.query = function (this: object, ...args: any[]) {
  const text: string = typeof args[0] === 'string' ? args[0] : (args[0]?.text ?? '');
  const isCommit = text === 'commit' && touched.delete(this);
  const isOurs = text.includes(`${schema}.`) && !byTheClock.test(text);
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
