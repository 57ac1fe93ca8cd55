import { byId, type Kitchen, type Recipes, unique } from '../recipe.ts';
import { service } from './services.ts';

/** A token of the caller’s own, not narrowed. */
const token = async ({ qd, caller }: Kitchen) => byId((await qd.narrowed(caller, [])).tokenId);
const colleagues = async ({ qd, at }: Kitchen) => byId((await qd.member(at, 'admin')).tokenId);

export const tokens: Recipes = {
  listTokens: { query: () => ({ limit: '1000' }), lists: async ({ at }) => byId(at.tokenId) },
  createToken: {
    body: () => ({ name: unique('token') }),
    cases: {
      'scope uptime.viewer': { body: () => ({ name: unique('token'), scope: [{ role: 'uptime.viewer' }] }) },
      'scope owner': { body: () => ({ name: unique('token'), scope: [{ role: 'owner' }] }) },
      "other's resource": {
        body: async (kitchen) => {
          const { params } = await service({ ...kitchen, at: kitchen.foreigner });
          return { name: unique('token'), scope: [{ role: 'uptime.viewer', resourceIds: [params.id] }] };
        },
      },
    },
  },
  listScopeOptions: { lists: service },
  updateToken: {
    make: token,
    perCaller: true,
    body: () => ({ name: unique('renamed') }),
    cases: {
      "a colleague's": { make: colleagues },
      'no change': { body: () => ({}) },
    },
  },
  deleteToken: { make: token, perCaller: true, cases: { "a colleague's": { make: colleagues } } },
};
