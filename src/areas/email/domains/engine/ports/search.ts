import { type SearchSource, searchEach } from '../../../../ports.ts';
import { searchDomains } from '../../store/ports/search.ts';

export const domainsSearch: SearchSource = {
  entitlement: 'email',
  read: (tx, { org, reach }, _own, wanted) =>
    searchEach([{ kind: 'domain', visible: reach('email.domain.read'), search: (visible) => searchDomains(tx, org, visible, wanted) }]),
};
