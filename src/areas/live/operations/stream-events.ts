import { live } from '../../../../contract/live.ts';
import { endless, operation } from '../../../identity/operation.ts';
import type { OpenLive } from '../open.ts';

export const streamEvents = operation(live.streamEvents, async ({ ctx }, { hub }: OpenLive) => {
  const { principal } = ctx;
  hub.requireRoom(principal);
  return endless((sink) => hub.open(principal, sink));
});
