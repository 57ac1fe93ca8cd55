import { builtinRoles } from '../../../../../contract/permissions.ts';
import { type SearchSource, searchEach } from '../../../ports.ts';
import { searchRoles } from '../../store/ports/search.ts';

export const iamSearch: SearchSource = {
  read: (tx, { org }, _own, wanted) =>
    searchEach([{ kind: 'role', visible: '*', search: () => searchRoles(tx, org, builtinRoles, wanted) }]),
};
