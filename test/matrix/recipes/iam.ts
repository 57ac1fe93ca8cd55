import { byId, type Kitchen, made201, type Recipes, unique } from '../recipe.ts';
import { service } from './services.ts';

const role = async ({ at }: Kitchen) =>
  byId((await made201(at.post('/iam/roles', { name: unique('role'), permissions: ['uptime.monitor.read'] }))).id);
const grant = async ({ at, qd }: Kitchen) => {
  const { userId } = await qd.member(at, 'member');
  return byId((await made201(at.post('/iam/grants', { subject: userId, role: 'uptime.viewer' }))).id);
};
const subject = async ({ at, qd }: Kitchen) => ({ params: { userId: (await qd.member(at, 'member')).userId } });
const builtin = async () => byId('uptime.viewer');

export const iam: Recipes = {
  getIamCatalog: { lists: service },
  listPermissions: {},
  listRoles: { lists: role },
  createRole: {
    body: () => ({ name: unique('role'), permissions: ['email.message.read'] }),
    cases: { 'of ownership': { body: () => ({ name: unique('role'), permissions: ['organization.ownership.admin'] }) } },
  },
  updateRole: {
    make: role,
    body: () => ({ name: unique('role'), permissions: ['oncall.incident.write'] }),
    cases: { 'built in': { make: builtin } },
  },
  deleteRole: { make: role, cases: { 'built in': { make: builtin } } },
  listGrants: { lists: grant },
  getEffectivePermissions: {
    make: subject,
    query: (member) => ({ userId: member!.params.userId! }),
    cases: {
      "other's member": { make: async ({ foreigner }) => ({ params: { userId: foreigner.userId } }) },
      unknown: { make: async () => ({ params: { userId: 'usr_unknown' } }) },
    },
  },
  createGrant: {
    body: async ({ qd, at }) => ({ subject: (await qd.member(at, 'member')).userId, role: 'uptime.editor' }),
    cases: {
      "other's member": { body: ({ foreigner }) => ({ subject: foreigner.userId, role: 'uptime.editor' }) },
      "other's resource": {
        body: async (kitchen) => ({
          subject: (await kitchen.qd.member(kitchen.at, 'member')).userId,
          role: 'uptime.editor',
          resourceIds: [(await service({ ...kitchen, at: kitchen.foreigner })).params.id],
        }),
      },
    },
  },
  deleteGrant: { make: grant },
};
