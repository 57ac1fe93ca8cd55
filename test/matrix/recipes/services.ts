import { type Kitchen, made201, type Recipes, scopable, unique } from '../recipe.ts';

/** Made at on-call’s door, which needs no entitlement: both areas show the same services. */
export const service = async ({ at }: Kitchen) => scopable((await made201(at.post('/oncall/services', { name: unique('service') }))).id);

const named = () => ({ name: unique('service') });

export const services: Recipes = {
  listUptimeServices: { lists: service },
  createUptimeService: { body: named },
  renameUptimeService: { make: service, body: named },
  deleteUptimeService: { make: service },
  listOncallServices: { lists: service },
  createOncallService: { body: named },
};
