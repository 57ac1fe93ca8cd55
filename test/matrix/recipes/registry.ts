import { sql } from '../../../src/kernel/sql.ts';
import { type Kitchen, type Maker, made201, type Recipes, type Thing, unique } from '../recipe.ts';
import { pushedImage } from './image.ts';

const freeSlug = () => unique('images').replace(' ', '-');
const at = (thing: Thing) => `/registry/registries/${thing.params.slug}`;

/** Paths name a registry by its slug, roles by its id. */
const registryIn: Maker = async (kitchen) => {
  const { slug } = await made201(kitchen.at.post('/registry/registries', { slug: freeSlug() }));
  const { rows } = await kitchen.qd.app.db.read((tx) => tx.query(sql`select id from registry.registry where slug = ${slug}`));
  return { params: { slug }, narrowTo: (rows[0] as { id: string }).id };
};

/** Something inside a registry of its own. */
const inRegistry =
  (put: (kitchen: Kitchen, registry: Thing) => Promise<Record<string, string>>): Maker =>
  async (kitchen) => {
    const registry = await registryIn(kitchen);
    return { ...registry, params: { ...registry.params, ...(await put(kitchen, registry)) } };
  };

const keyBody = () => ({ name: unique('key'), mode: 'pull' });
const keyIn = inRegistry(async (kitchen, registry) => ({
  keyId: (await made201(kitchen.at.post(`${at(registry)}/keys`, keyBody()))).keyId,
}));

/** A login of the owner’s; everybody else, their narrowed tokens too, needs registry.key.admin to end it. */
const loginIn: Maker = async (kitchen) => {
  const registry = await registryIn(kitchen);
  const { username } = await made201(kitchen.at.post('/registry/login-credentials', { registry: registry.params.slug }));
  return { ...registry, params: { keyId: username } };
};

const ruleBody = ({ fakes }: Kitchen) => ({
  issuer: fakes.issuer.url,
  audience: 'quarterdeck',
  subjectPattern: 'repo:acme/app:**',
  mode: 'pull',
});
const ruleIn = inRegistry(async (kitchen, registry) => ({
  id: String((await made201(kitchen.at.post(`${at(registry)}/oidc-rules`, ruleBody(kitchen)))).id),
}));

const imageIn = inRegistry(pushedImage);
const repoOf = (image: Thing | undefined) => ({ repo: image!.params.repo! });

const upstreamIn = inRegistry(async () => ({ host: 'up.test' }));
const upstreamLoginIn = inRegistry(async ({ at: owner, fakes }, registry) => {
  const { status } = await owner.put(`${at(registry)}/upstream-credentials/up.test`, fakes.upstreamLogin);
  if (status !== 200) throw new Error(`the upstream login was not taken: ${status}`);
  return { host: 'up.test' };
});

export const registry: Recipes = {
  listRegistries: { lists: registryIn },
  createRegistry: { body: () => ({ slug: freeSlug() }) },
  getRegistry: { make: registryIn },
  getRegistryUsage: { make: registryIn, query: () => ({ days: '7' }) },
  updateRegistry: { make: registryIn, body: () => ({ displayName: unique('images') }) },
  deleteRegistry: { make: registryIn, cases: { 'with images': { make: imageIn } } },
  createRegistryLogin: {
    lists: registryIn,
    body: () => ({}),
    cases: {
      "other's registry": {
        body: async (kitchen) => ({ registry: (await registryIn({ ...kitchen, at: kitchen.foreigner })).params.slug }),
      },
    },
  },
  revokeRegistryLogin: { make: loginIn },
  listRegistryKeys: { lists: keyIn },
  createRegistryKey: { make: registryIn, body: keyBody },
  revokeRegistryKey: { make: keyIn },
  listRegistryRepositories: { lists: inRegistry(async (kitchen, thing) => ({ repo: (await pushedImage(kitchen, thing)).repo })) },
  deleteRegistryRepository: { make: imageIn, query: repoOf, cases: { 'unknown repo': { query: () => ({ repo: 'never/was' }) } } },
  listRegistryTags: { make: imageIn, query: repoOf, cases: { 'unknown repo': { query: () => ({ repo: 'never/was' }) } } },
  deleteRegistryTag: {
    make: imageIn,
    query: (image) => ({ ...repoOf(image), tag: image!.params.tag! }),
    cases: {
      'and purge': { query: (image) => ({ ...repoOf(image), tag: image!.params.tag!, purge: 'true' }) },
      'unknown tag': { query: (image) => ({ ...repoOf(image), tag: 'never-was' }) },
    },
  },
  getRegistryImage: {
    make: imageIn,
    query: (image) => ({ ...repoOf(image), reference: image!.params.tag! }),
    cases: { 'unknown tag': { query: (image) => ({ ...repoOf(image), reference: 'never-was' }) } },
  },
  listRegistryManifests: { make: imageIn, query: repoOf, cases: { 'unknown repo': { query: () => ({ repo: 'never/was' }) } } },
  deleteRegistryManifest: { make: imageIn, query: (image) => ({ ...repoOf(image), digest: image!.params.digest! }) },
  listRegistryOidcRules: { make: ruleIn },
  createRegistryOidcRule: { make: registryIn, body: ruleBody },
  matchRegistryOidcSubject: { make: ruleIn, body: () => ({ subject: 'repo:acme/app:ref:refs/heads/main' }) },
  deleteRegistryOidcRule: { make: ruleIn },
  exchangeRegistryOidcToken: {
    body: async (kitchen) => ({
      subject_token: await kitchen.fakes.issuer.token({ jti: unique('job') }),
      audience: (await ruleIn(kitchen)).params.slug,
    }),
    cases: {
      'no such rule': {
        body: async (kitchen) => ({ subject_token: await kitchen.fakes.issuer.token(), audience: (await registryIn(kitchen)).params.slug }),
      },
    },
  },
  listRegistryUpstreams: {},
  listRegistryUpstreamCredentials: { lists: upstreamLoginIn, shared: ['host'] },
  setRegistryUpstreamCredential: { make: upstreamIn, shared: ['host'], body: ({ fakes }) => fakes.upstreamLogin },
  deleteRegistryUpstreamCredential: { make: upstreamLoginIn, shared: ['host'] },
};
