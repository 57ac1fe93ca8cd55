import { type SearchSource, searchEach } from '../../../ports.ts';
import { searchMembers } from '../../store/ports/search.ts';

export const organizationSearch: SearchSource = {
  read: (tx, { org }, _own, wanted) => searchEach([{ kind: 'member', visible: '*', search: () => searchMembers(tx, org, wanted) }]),
};
