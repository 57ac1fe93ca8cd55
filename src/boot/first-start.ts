import { open, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { hasOrgs, lockFirstStart, makeOrganization } from '../areas/organization/index.ts';
import { refreshMachineToken } from '../areas/tokens/index.ts';
import type { Config } from '../kernel/config.ts';
import type { Tx } from '../kernel/db/index.ts';

const fileName = 'owner.token';
export const ownerTokenFile = (dataDir: string) => join(dataDir, fileName);

/** The first start makes the organization `default` and its owner. Later ones find an organization and leave it alone. */
export async function ensureOrganization(tx: Tx, config: Config): Promise<void> {
  await lockFirstStart(tx);
  if (await hasOrgs(tx)) return;
  await makeOrganization(tx, { slug: 'default', name: 'Default', ownerEmail: config.owner_email, entitlements: config.entitlements });
}

/** `data/owner.token`, which the command line here picks up by itself. Minted again when it is gone, dead or near its end. */
export async function ensureOwnerToken(tx: Tx, dataDir: string): Promise<void> {
  const file = ownerTokenFile(dataDir);
  const present = (await readFile(file, 'utf8').catch(() => '')).trim();
  const key = await refreshMachineToken(tx, present, fileName);
  if (key !== undefined) await writeSecret(file, `${key}\n`);
}

/** Beside the token, the URLs of the server that it is for: the command line sends it nowhere else. */
export const tellOwnerUrls = (dataDir: string, urls: string[]) =>
  writeFile(join(dataDir, 'owner.url'), `${urls.filter(Boolean).join('\n')}\n`, { mode: 0o600 });

/** Made anew with O_EXCL and 0600: never through somebody's link, never readable by others for a moment. */
async function writeSecret(file: string, text: string) {
  await rm(file, { force: true });
  const handle = await open(file, 'wx', 0o600);
  await handle.writeFile(text);
  await handle.sync();
  await handle.close();
}
