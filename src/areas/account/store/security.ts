import Type from 'typebox';
import { row, rows, run, type Tx } from '../../../kernel/db/index.ts';

const PolicyRow = Type.Object({ requires_second_factor: Type.Boolean() });

export const requiresSecondFactor = async (tx: Tx, org: string): Promise<boolean> =>
  (await row(tx, PolicyRow)`select requires_second_factor from identity.org where id = ${org}`)!.requires_second_factor;

/** Naming the entitlements moves the version of the organization's rights (0008_rights_version.sql), so that rights are read again. */
export const updatePolicy = (tx: Tx, org: string, isRequired: boolean) =>
  run(tx)`update identity.org set requires_second_factor = ${isRequired}, entitlements = entitlements where id = ${org}`;

const UserRow = Type.Object({ user_id: Type.String() });

/** The people among these who have a second factor. */
export const withSecondFactor = async (tx: Tx, userIds: readonly string[]): Promise<ReadonlySet<string>> =>
  new Set(
    (
      await rows(tx, UserRow)`
        select user_id from account.totp where user_id = any(${[...userIds]}) and confirmed_at is not null
         union select user_id from account.passkey where user_id = any(${[...userIds]})`
    ).map(({ user_id }) => user_id),
  );

const CountRow = Type.Object({ user_id: Type.String(), tokens: Type.Integer() });

/** How many live tokens these people have here. */
export const liveTokensOf = async (tx: Tx, org: string, userIds: readonly string[]): Promise<ReadonlyMap<string, number>> =>
  new Map(
    (
      await rows(tx, CountRow)`
        select user_id, count(*) as tokens from identity.token
         where org_id = ${org} and user_id = any(${[...userIds]}) and expires_at > kernel.now() group by user_id`
    ).map(({ user_id, tokens }) => [user_id, tokens]),
  );
