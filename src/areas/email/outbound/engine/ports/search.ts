import { type SearchSource, searchEach } from '../../../../ports.ts';
import { foldAddress } from '../../../rules/envelope.ts';
import { searchMessages } from '../../store/ports/search.ts';

export const outboundSearch: SearchSource = {
  entitlement: 'email',
  read: (tx, { org, reach }, _own, wanted) =>
    searchEach([
      {
        kind: 'message',
        visible: reach('email.message.read'),
        search: (visible) => searchMessages(tx, org, visible, foldAddress(wanted.text), wanted),
      },
    ]),
};
