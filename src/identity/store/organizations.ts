import Type, { type Static } from 'typebox';
import { row, type Tx } from '../../kernel/db/index.ts';

export const OrgRow = Type.Object({ id: Type.String(), slug: Type.String(), name: Type.String(), created_at: Type.String() });
export type OrgRow = Static<typeof OrgRow>;

export const findOrg = async (tx: Tx, id: string) =>
  (await row(tx, OrgRow)`select id, slug, name, created_at from identity.org where id = ${id}`)!;

/** Every change of an organization's members takes this lock first, so that the last owner cannot be removed concurrently. */
export const lockOrg = async (tx: Tx, id: string) =>
  (await row(tx, OrgRow)`select id, slug, name, created_at from identity.org where id = ${id} for update`)!;

const EntitlementsRow = Type.Object({ entitlements: Type.Array(Type.String()) });

/** Its entitlements; undefined: there is no such organization. */
export const entitlementsOf = async (tx: Tx, id: string): Promise<string[] | undefined> =>
  (await row(tx, EntitlementsRow)`select entitlements from identity.org where id = ${id}`)?.entitlements;

const PaymentRow = Type.Object({ payment_active: Type.Boolean() });

/** The operator's setting; used while there is no payment provider. */
export const isPaymentActive = async (tx: Tx, id: string): Promise<boolean> =>
  (await row(tx, PaymentRow)`select payment_active from identity.org where id = ${id}`)?.payment_active ?? false;
