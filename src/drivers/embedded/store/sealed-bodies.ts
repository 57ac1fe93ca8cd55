import Type from 'typebox';
import type { Secrets } from '../../../kernel/secrets.ts';

// Secrets of embedded clusters are never stored in the clear. The whole body is sealed, since kubectl copies secrets into annotations.

/** The cluster whose objects are read or written. */
export interface ObjectStore {
  id: string;
  org: string;
  app: { secrets: Secrets };
}

export const SealedBody = Type.Union([Type.Unsafe<Buffer>({}), Type.Null()]);

export const objectSealContext = ({ id }: ObjectStore, { namespace, name }: { namespace: string; name: string }) =>
  `clusters.object.sealed.${id}/${namespace}/${name}`;
export const changeSealContext = ({ id }: ObjectStore, { version }: { version: number }) =>
  `clusters.object_change.sealed.${id}/${version}`;

const isSecret = ({ resource }: { resource: string }) => resource === 'secrets';

/** The columns of a body: sealed for secrets, plain otherwise. */
export const sealBody = (space: ObjectStore, of: { resource: string; body: string }, context: string) =>
  isSecret(of) ? { body: '', sealed: space.app.secrets.seal(of.body, context) } : { body: of.body, sealed: null };

export function openBody<R extends { body: string; sealed: Buffer | null }>(
  space: ObjectStore,
  row: R,
  context: (of: R) => string,
): Omit<R, 'sealed'> {
  const { sealed, ...rest } = row;
  return sealed ? { ...rest, body: space.app.secrets.unseal(sealed, context(row)) } : rest;
}
