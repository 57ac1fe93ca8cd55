import { type SearchSource, searchEach, wholly } from '../../../ports.ts';
import { searchStatusPages } from '../../store/ports/search.ts';

export const statusSearch: SearchSource = {
  read: (tx, { org, reach }, _own, wanted) =>
    searchEach([{ kind: 'statusPage', visible: wholly(reach('oncall.page.read')), search: () => searchStatusPages(tx, org, wanted) }]),
};
