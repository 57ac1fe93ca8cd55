import { type SearchSource, searchEach } from '../../../ports.ts';
import { searchMonitors } from '../../store/ports/search.ts';

export const uptimeSearch: SearchSource = {
  entitlement: 'uptime',
  read: (tx, { org, reach }, _own, wanted) =>
    searchEach([{ kind: 'monitor', visible: reach('uptime.monitor.read'), search: (visible) => searchMonitors(tx, org, visible, wanted) }]),
};
