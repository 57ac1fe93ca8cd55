import type { Ask } from '../../../../drivers/driver.ts';
import { type AddonContext, addonObjects, addonWorkloads, imageLoginSecret, withNewerImage } from '../../rules/addons/index.ts';
import { changeObject } from './ask.ts';
import { ensureObject } from './prepare.ts';

/** Makes kube-proxy and CoreDNS; what is there by these names already stays as it is. */
export async function makeAddons(ask: Ask, context: AddonContext): Promise<void> {
  for (const each of addonObjects(context)) await ensureObject(ask, each);
}

/** Raises the tags of their images. A workload that the tenant deleted stays deleted. */
export async function raiseAddons(ask: Ask, version: string): Promise<void> {
  for (const { path, image } of addonWorkloads(version)) await changeObject(ask, path, (object) => withNewerImage(object, image));
}

export async function ensureImageLogin(ask: Ask, context: Pick<AddonContext, 'images' | 'login'>): Promise<void> {
  const secret = imageLoginSecret(context);
  if (secret) await ensureObject(ask, secret);
}
