import { type SearchSource, searchEach } from '../../../../ports.ts';
import { searchRoutes } from '../../store/ports/search.ts';

export const inboundSearch: SearchSource = {
  entitlement: 'email',
  read: (tx, { org, reach }, _own, wanted) =>
    searchEach([{ kind: 'route', visible: reach('email.route.read'), search: (visible) => searchRoutes(tx, org, visible, wanted) }]),
};
