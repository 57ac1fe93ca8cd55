import Type, { type Static } from 'typebox';
import { row, run, type Tx } from '../../../kernel/db/index.ts';
import { sql } from '../../../kernel/sql.ts';

const nullable = <T extends Type.TSchema>(schema: T) => Type.Union([schema, Type.Null()]);

const AuthorityRow = Type.Object({
  directory: Type.String(),
  account_key: Type.Unsafe<Buffer>({}),
  account_url: nullable(Type.String()),
  contact: Type.String(),
  eab_kid: nullable(Type.String()),
  failures: Type.Integer(),
  paused_until: nullable(Type.String()),
  last_error: nullable(Type.String()),
  registered_at: nullable(Type.String()),
});
export type AuthorityRow = Static<typeof AuthorityRow>;

const columns = sql`directory, account_key, account_url, contact, eab_kid, failures, paused_until, last_error, registered_at`;

export const findAuthority = (tx: Tx, directory: string) => row(tx, AuthorityRow)`
  select ${columns} from certificates.authority where directory = ${directory}`;

/** Of two that make a key at once, the first one's stays. */
export const insertAuthority = async (
  tx: Tx,
  a: { directory: string; key: Buffer; contact: string; eabKid: string | null },
): Promise<AuthorityRow> => {
  await run(tx)`
    insert into certificates.authority (directory, account_key, contact, eab_kid, created_at)
    values (${a.directory}, ${a.key}, ${a.contact}, ${a.eabKid}, kernel.now()) on conflict (directory) do nothing`;
  return (await findAuthority(tx, a.directory))!;
};

export const keepAccount = (tx: Tx, directory: string, a: { url: string; contact: string; eabKid: string | null }) => run(tx)`
  update certificates.authority
     set account_url = ${a.url}, contact = ${a.contact}, eab_kid = ${a.eabKid}, registered_at = kernel.now()
   where directory = ${directory}`;

/** The account is gone at the authority: another key, not registered yet. */
export const replaceAccount = (tx: Tx, directory: string, before: string, key: Buffer) => run(tx)`
  update certificates.authority set account_key = ${key}, account_url = null where directory = ${directory} and account_url = ${before}`;

export const pauseAuthority = (tx: Tx, directory: string, f: { sentence: string; seconds: number }) => run(tx)`
  update certificates.authority
     set failures = failures + 1, last_error = ${f.sentence}, paused_until = kernel.now() + make_interval(secs => ${f.seconds})
   where directory = ${directory}`;

export const unpauseAuthority = (tx: Tx, directory: string) => run(tx)`
  update certificates.authority set failures = 0, last_error = null, paused_until = null where directory = ${directory} and failures > 0`;

const PausedRow = Type.Object({ is_paused: Type.Boolean() });

export const isPaused = async (tx: Tx, directory: string): Promise<boolean> =>
  (
    await row(tx, PausedRow)`
    select coalesce(paused_until > kernel.now(), false) as is_paused from certificates.authority where directory = ${directory}`
  )?.is_paused ?? false;
