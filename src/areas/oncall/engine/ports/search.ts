import { type SearchSource, searchEach, wholly } from '../../../ports.ts';
import * as store from '../../store/ports/search.ts';

export const oncallSearch: SearchSource = {
  read: (tx, { org, reach }, _own, wanted) =>
    searchEach([
      {
        kind: 'incident',
        visible: reach('oncall.incident.read'),
        search: (visible) => store.searchIncidents(tx, org, visible, wanted),
      },
      { kind: 'schedule', visible: wholly(reach('oncall.schedule.read')), search: () => store.searchSchedules(tx, org, wanted) },
      { kind: 'policy', visible: wholly(reach('oncall.policy.read')), search: () => store.searchPolicies(tx, org, wanted) },
      {
        kind: 'alertSource',
        visible: reach('oncall.source.read'),
        search: (visible) => store.searchSources(tx, org, visible, wanted),
      },
    ]),
};
