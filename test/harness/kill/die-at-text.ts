/**
 * Loaded into a server with --import: it kills itself, as kill -9 would, at the first statement that holds a text.
 * QD_DIE_AT_TEXT=<before|after|committed>:<text>, where `after` means: the database has answered, and the program has not heard it; `committed`: the
 * same of the commit that follows it on the same connection.
 */
import pg from 'pg';

const given = process.env.QD_DIE_AT_TEXT ?? '';
const moment = given.slice(0, given.indexOf(':'));
const wanted = given.slice(given.indexOf(':') + 1);

const die = () => process.kill(process.pid, 'SIGKILL');
const touched = new WeakSet<object>();

// biome-ignore lint/suspicious/noExplicitAny: every overload of query
const query = pg.Client.prototype.query as (...args: any[]) => any;
// biome-ignore lint/suspicious/noExplicitAny: as above
pg.Client.prototype.query = function (this: object, ...args: any[]) {
  const text: string = typeof args[0] === 'string' ? args[0] : (args[0]?.text ?? '');
  const isIt = text.replaceAll(/\s+/g, ' ').includes(wanted);
  if (isIt && moment === 'before') die();
  const isEnd = moment === 'committed' ? text === 'commit' && touched.delete(this) : isIt;
  if (isIt) touched.add(this);
  if (!isEnd) return query.apply(this, args);
  return query.apply(this, args).then((result: unknown) => {
    die();
    return result;
  });
} as typeof pg.Client.prototype.query;
