import Type from 'typebox';
import { row, run, type Tx } from '../../../../kernel/db/index.ts';

const SealedRow = Type.Object({ sealed: Type.Unsafe<Buffer>({}) });

/** The first process to insert a key wins; concurrent processes use the same one. */
export async function findReturnPathKey(tx: Tx, makeSealed: () => Buffer): Promise<Buffer> {
  const find = () => row(tx, SealedRow)`select sealed from email.return_path_key`;
  const found = await find();
  if (found) return found.sealed;
  await run(tx)`insert into email.return_path_key (sealed) values (${makeSealed()}) on conflict do nothing`;
  return (await find())!.sealed;
}
