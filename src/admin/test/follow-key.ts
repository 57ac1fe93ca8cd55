import { eventually } from '../../../test/harness/process.ts';
import { keyFile, keyIdOf, readKeys, type Secrets, seal } from '../../kernel/secrets.ts';

const place = 'nowhere';

const opens = (secrets: Secrets, sealed: Buffer): boolean => {
  try {
    return secrets.unseal(sealed, place) === 'anything';
  } catch {
    return false;
  }
};

/** Until each of these has read the key file as it is now, and no longer than a rotation waits for them: each looks once a second. */
export async function followKey(dataDir: string, all: readonly Secrets[]): Promise<void> {
  const { keys } = (await readKeys(keyFile(dataDir)))!;
  const probes = keys.map((key) => seal({ keys: [key] }, 'anything', place));
  const isRead = (secrets: Secrets) =>
    keyIdOf(secrets.seal('anything', place)) === keys[0]!.id && probes.every((sealed) => opens(secrets, sealed));
  await eventually(async () => all.every(isRead), { withinMs: 3_000, everyMs: 20 });
}
