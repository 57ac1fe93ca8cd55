import type { Guard } from '../../sdk/browser.ts';
import guardsTable from '../../sdk/generated/guards.json' with { type: 'json' };
import { useQuery } from './query.ts';
import { type Rights, whyNot } from './why-not.ts';

export { type Rights, whyNot } from './why-not.ts';

// What the person may do here, as the server's guards see it. A page asks only to say beforehand why something is not offered; the server
// decides about every request by itself.

const guards = guardsTable as Record<string, Guard>;

/** Why an operation is not for this person here; undefined: it is, or the server has to say. */
export type Why = (operation: string, resource?: string) => string | undefined;

export const guardOf = (operation: string): Guard | undefined => guards[operation];

export const useRights = () =>
  useQuery<Rights>({
    key: ['rights'],
    kinds: ['iam.grant', 'organization.member', 'iam.role'],
    ask: (api, signal) => api.organization.getMyRights({ signal }),
  });

export function useWhy(): Why {
  const { data } = useRights();
  return (operation, resource) => whyNot(data, guards[operation], resource);
}

/** What an operation shows or changes: a hint of one of these asks for it again. */
export const kindsOf = (operation: string): readonly string[] => guards[operation]?.kinds ?? [];

/** For what a screen reads beside its main thing: not asked until it is known to be allowed. */
export function useMay(operation: string): boolean {
  const { data } = useRights();
  return data !== undefined && whyNot(data, guards[operation]) === undefined;
}
