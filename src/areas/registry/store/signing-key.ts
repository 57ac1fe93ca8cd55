import Type from 'typebox';
import { row, run, type Tx } from '../../../kernel/db/index.ts';

const SealedRow = Type.Object({ sealed: Type.Unsafe<Buffer>({}) });

/** Several processes may generate the first key concurrently; the first insert wins and all use it. */
export async function signingKey(tx: Tx, fresh: () => Buffer): Promise<Buffer> {
  const find = () => row(tx, SealedRow)`select sealed from registry.signing_key where id = 1`;
  const found = await find();
  if (found) return found.sealed;
  await run(tx)`insert into registry.signing_key (id, sealed, created_at) values (1, ${fresh()}, kernel.now()) on conflict do nothing`;
  return (await find())!.sealed;
}
