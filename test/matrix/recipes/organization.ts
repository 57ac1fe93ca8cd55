import type { OrganizationRole } from '../../../contract/permissions.ts';
import { byId, type Kitchen, made201, type Recipes, unique, uniqueEmail } from '../recipe.ts';

const memberAs =
  (role: OrganizationRole) =>
  async ({ qd, at }: Kitchen) => ({ params: { userId: (await qd.member(at, role)).userId } });
const member = memberAs('member');
const themselves = async ({ caller }: Kitchen) => ({ params: { userId: caller.userId } });

const invite = ({ at }: Kitchen, email = uniqueEmail()) => made201(at.post('/organization/invitations', { email }));
const secretOf = ({ link }: { link: string }) => link.split('/').pop()!;

export const organization: Recipes = {
  getContacts: {},
  updateContacts: { body: () => ({ technicalEmail: uniqueEmail() }) },
  getOrganization: {},
  updateOrganization: { body: () => ({ name: unique('organization') }) },
  listMembers: { lists: member },
  updateMember: {
    make: member,
    body: () => ({ role: 'admin' }),
    cases: {
      'made an owner': { body: () => ({ role: 'owner' }) },
      'an owner demoted': { make: memberAs('owner'), body: () => ({ role: 'member' }) },
    },
  },
  removeMember: {
    make: member,
    cases: {
      'an owner': { make: memberAs('owner') },
      themselves: { make: themselves, perCaller: true, spendsCaller: true },
    },
  },
  listInvitations: { lists: async (kitchen) => byId((await invite(kitchen)).invitation.id) },
  createInvitation: {
    body: () => ({ email: uniqueEmail() }),
    cases: { 'as an owner': { body: () => ({ email: uniqueEmail(), role: 'owner' }) } },
  },
  deleteInvitation: { make: async (kitchen) => byId((await invite(kitchen)).invitation.id) },
  acceptInvitation: {
    body: async (kitchen) => ({ secret: secretOf(await invite(kitchen)) }),
    cases: {
      'of an account that exists': {
        body: async (kitchen) => ({
          secret: secretOf(
            await invite({ ...kitchen, at: await kitchen.qd.organization(unique('host').replace(' ', '-')) }, kitchen.caller.email),
          ),
        }),
      },
      'unknown secret': { body: () => ({ secret: 'qd_inv_unknown' }) },
    },
  },
  listAudit: { query: () => ({ limit: '5' }) },
  getInstallation: {},
  getMe: {},
  getMyRights: {},
};
