import type { Quarterdeck, Someone } from '../../harness/index.ts';
import { signedIn } from '../../harness/visitor.ts';
import { byId, type Kitchen, made201, type Recipes } from '../recipe.ts';

/** A session of the caller’s own. */
const session = async ({ qd, caller }: Kitchen) => {
  const browser = await signedIn(qd, caller.userId);
  const { body } = await browser.api('GET', '/me/sessions', undefined, { 'x-organization': caller.orgSlug });
  return byId((body as { sessions: { id: string; isCurrent: boolean }[] }).sessions.find(({ isCurrent }) => isCurrent)!.id);
};

const lenders = new WeakMap<Quarterdeck, Promise<Someone>>();

/** The code of a program that somebody approved, in an organization of which no subject is a part: the answer names it. */
const approvedCode = async ({ qd, at }: Kitchen): Promise<string> => {
  const { deviceCode, userCode } = await made201(at.post('/device/codes', {}));
  const lending = lenders.get(qd) ?? qd.organization('lenders');
  lenders.set(qd, lending);
  const { userId, orgSlug } = await lending;
  const browser = await signedIn(qd, userId);
  await browser.post('/device/approve', { code: userCode, organization: orgSlug, rights: 'everything', days: '30' });
  return deviceCode;
};

export const account: Recipes = {
  listSessions: { lists: session, perCaller: true },
  endSession: { make: session, perCaller: true },
  getSecurity: {},
  updateSecurity: { body: () => ({ requiresSecondFactor: false }) },
  createDeviceCode: { body: () => ({ program: 'a matrix' }) },
  claimDeviceToken: { body: async (kitchen) => ({ deviceCode: await approvedCode(kitchen) }) },
};
