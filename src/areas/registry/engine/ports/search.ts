import { type SearchSource, searchEach } from '../../../ports.ts';
import * as store from '../../store/ports/search.ts';

export const registrySearch: SearchSource = {
  read: (tx, { org, reach }, _own, wanted) =>
    searchEach([
      {
        kind: 'registry',
        visible: reach('registry.registry.read'),
        search: (visible) => store.searchRegistries(tx, org, visible, wanted),
      },
      {
        kind: 'repository',
        visible: reach('registry.image.read'),
        search: (visible) => store.searchRepositories(tx, org, visible, wanted),
      },
    ]),
};
