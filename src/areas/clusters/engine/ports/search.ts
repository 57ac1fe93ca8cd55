import { type SearchSource, searchEach } from '../../../ports.ts';
import { searchClusters } from '../../store/ports/search.ts';

export const clustersSearch: SearchSource = {
  read: (tx, { org, reach }, _own, wanted) =>
    searchEach([
      { kind: 'cluster', visible: reach('clusters.cluster.read'), search: (visible) => searchClusters(tx, org, visible, wanted) },
    ]),
};
