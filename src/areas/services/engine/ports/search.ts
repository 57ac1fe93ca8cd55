import type { Visible } from '../../../../kernel/sql.ts';
import { type SearchSource, searchEach } from '../../../ports.ts';
import { searchServices } from '../../store/ports/search.ts';

/** Uptime and on-call show the same services: the right to read them in either is enough. */
export const servicesSearch: SearchSource = {
  read: (tx, { org, reach, principal }, _own, wanted) => {
    const byUptime = principal.entitlements.has('uptime') ? reach('uptime.service.read') : undefined;
    return searchEach([
      {
        kind: 'service',
        visible: union(reach('oncall.service.read'), byUptime),
        search: (visible) => searchServices(tx, org, visible, wanted),
      },
    ]);
  },
};

function union(a: Visible | undefined, b: Visible | undefined): Visible | undefined {
  if (a === undefined || b === undefined) return a ?? b;
  return a === '*' || b === '*' ? '*' : new Set([...a, ...b]);
}
