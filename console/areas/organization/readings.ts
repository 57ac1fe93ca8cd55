import type { IamRole } from '../../../sdk/browser.ts';
import { useQuery } from '../../data/query.ts';

// What several screens of the organization read.

export const roleKinds = ['iam.role'];
export const grantKinds = ['iam.grant', 'iam.role', 'organization.member'];

/** Built in and custom ones, each with its permissions. */
export const useRoles = () =>
  useQuery<readonly IamRole[]>({
    key: ['roles'],
    kinds: roleKinds,
    ask: async (api, signal) => (await api.iam.listRoles({ signal })).roles,
  });

/** Every permission of the product, by service and resource. */
export const usePermissions = () =>
  useQuery({ key: ['permissions'], kinds: [], ask: async (api, signal) => (await api.iam.listPermissions({ signal })).services });

export const useGrants = (subject?: string, isOff = false) =>
  useQuery({
    key: ['grants', subject],
    kinds: grantKinds,
    isOff,
    ask: (api, signal) => api.iam.listGrants(subject ? { subject } : {}, { signal }),
  });

/** Roles that can be granted, and what they can be narrowed to. */
export const useGrantCatalog = () =>
  useQuery({ key: ['grant catalog'], kinds: grantKinds, ask: (api, signal) => api.iam.getIamCatalog({ signal }) });
