import { firstPages } from '../../data/pages.ts';
import { useQuery } from '../../data/query.ts';
import { policyKinds } from './policy-form.tsx';

/** Services, the newest first, with who is paged for each. */
export const useOncallServices = ({ isOff = false } = {}) =>
  useQuery({
    key: ['services'],
    kinds: [...policyKinds, 'oncall.provider'],
    isOff,
    ask: async (client, signal) => {
      const { answers, isCut } = await firstPages(client.oncall.listOncallServices.pages({}, { signal }));
      return { services: answers.flatMap(({ services }) => services), isCut };
    },
  });
