import { type Kitchen, made201, type Recipes, type Thing, unique } from '../recipe.ts';

const freeSlug = () => unique('images').replace(' ', '-');

/** Paths name a registry by its slug, roles by its id. */
const registryIn = async ({ at }: Kitchen): Promise<Thing> => {
  const { slug } = await made201(at.post('/registry/registries', { slug: freeSlug() }));
  const { resources } = (await at.get('/tokens/scope-options')).body as { resources: { id: string; name: string }[] };
  return { params: { slug }, narrowTo: resources.find((r) => r.name === slug)!.id };
};

const keyBody = () => ({ name: unique('key'), mode: 'pull' });
const keyIn = async (kitchen: Kitchen): Promise<Thing> => {
  const registry = await registryIn(kitchen);
  const { keyId } = await made201(kitchen.at.post(`/registry/registries/${registry.params['slug']}/keys`, keyBody()));
  return { ...registry, params: { ...registry.params, keyId } };
};

/** A login of the owner’s; everybody else needs registry.key.admin to end it. */
const loginIn = async (kitchen: Kitchen): Promise<Thing> => {
  const registry = await registryIn(kitchen);
  const { username } = await made201(kitchen.at.post('/registry/login-credentials', { registry: registry.params['slug'] }));
  return { ...registry, params: { keyId: username } };
};

export const registry: Recipes = {
  listRegistries: { lists: registryIn },
  createRegistry: { body: () => ({ slug: freeSlug() }) },
  getRegistry: { make: registryIn },
  deleteRegistry: { make: registryIn },
  createRegistryLogin: {
    lists: registryIn,
    body: () => ({}),
    cases: { "other's registry": { body: async ({ foreigner, ...rest }) => ({ registry: (await registryIn({ ...rest, foreigner, at: foreigner })).params['slug'] }) } },
  },
  revokeRegistryLogin: { make: loginIn },
  listRegistryKeys: { make: registryIn },
  createRegistryKey: { make: registryIn, body: keyBody },
  revokeRegistryKey: { make: keyIn },
};
