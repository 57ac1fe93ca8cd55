import { byId, type Kitchen, type Maker, made201, type Recipes, scopable, unique } from '../recipe.ts';

const domainBody = () => ({ name: `${unique('mail').replace(' ', '-')}.example.com` });
const domain: Maker = async ({ at }) => scopable((await made201(at.post('/email/domains', domainBody()))).id);

const keyBody = () => ({ name: unique('key') });
const key: Maker = async ({ at }) => byId((await made201(at.post('/email/keys', keyBody()))).sendKey.id);

const keyOf = async (kitchen: Kitchen) => ({ ...keyBody(), domainIds: [(await domain(kitchen)).params.id!] });

export const email: Recipes = {
  listDomains: { lists: domain },
  createDomain: { body: domainBody },
  getDomain: { make: domain },
  deleteDomain: { make: domain },
  getDomainDns: { make: domain },
  checkDomain: { make: domain },
  listSendKeys: { lists: key },
  createSendKey: {
    body: keyBody,
    cases: {
      'for a domain': { body: keyOf },
      "for another's domain": { body: (kitchen) => keyOf({ ...kitchen, at: kitchen.foreigner }) },
    },
  },
  revokeSendKey: { make: key },
};
