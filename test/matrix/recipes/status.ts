import { run } from '../../../src/kernel/db/index.ts';
import { type Kitchen, type Maker, made201, type Recipes, unique } from '../recipe.ts';
import { service } from './services.ts';

const slug = () => unique('page').replace(' ', '-');
const pageBody = async (kitchen: Kitchen) => ({ slug: slug(), title: unique('title'), serviceIds: [(await service(kitchen)).params.id] });

const page: Maker = async (kitchen) => {
  const made = await made201(kitchen.at.post('/status-pages', await pageBody(kitchen)));
  return { params: { slug: made.slug } };
};

/** Its domain is said to be set: the kitchen's server has no public name. */
const pageWithDomain: Maker = async (kitchen) => {
  const made = await page(kitchen);
  await kitchen.qd.app.db.write(
    (tx) => run(tx)`
      insert into status.domain (org_id, page_id, name, state, state_at, is_contested, created_at)
      select org_id, id, ${`${made.params.slug}.example.com`}, 'pending', kernel.now(), false, kernel.now() from status.page where slug = ${made.params.slug}`,
  );
  return made;
};

/** Somebody on the list. Readers put themselves there by mail; here it is said to have happened. */
const subscriber: Maker = async (kitchen) => {
  const { params } = await page(kitchen);
  const id = unique('sub').replace(' ', '_');
  await kitchen.qd.app.db.write(
    (tx) => run(tx)`
      insert into status.subscriber (org_id, page_id, id, address, state, token, token_hash, asked_at, confirmed_at, created_at)
      select org_id, id, ${id}, ${`${id}@example.com`}, 'active', '', sha256(convert_to(${id}, 'UTF8')), kernel.now(), kernel.now(), kernel.now()
        from status.page where slug = ${params.slug}`,
  );
  return { params: { slug: params.slug!, id } };
};

const foreignService = async (kitchen: Kitchen) => [(await service({ ...kitchen, at: kitchen.foreigner })).params.id];

export const status: Recipes = {
  listStatusPages: { lists: page },
  createStatusPage: {
    body: pageBody,
    cases: { "other's service": { body: async (kitchen) => ({ slug: slug(), title: 'x', serviceIds: await foreignService(kitchen) }) } },
  },
  getStatusPage: { make: page },
  updateStatusPage: {
    make: page,
    body: () => ({ title: unique('renamed') }),
    cases: { "other's service": { body: async (kitchen) => ({ serviceIds: await foreignService(kitchen) }) } },
  },
  deleteStatusPage: { make: page },
  checkStatusPageDomain: { make: pageWithDomain },
  listStatusPageSubscribers: { lists: subscriber },
  removeStatusPageSubscriber: { make: subscriber },
};
