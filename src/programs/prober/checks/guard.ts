import { type Guard, type GuardOptions, isThirdPartyMailServer, makeGuard } from '../../../kernel/guard/index.ts';

/**
 * The prober's guard for outgoing connections. The server refuses targets on the mail port; a redirect can still lead there, so the prober
 * checks again.
 */
export const proberGuard = (options: GuardOptions): Guard =>
  makeGuard({ ...options, allowPort: (use, port, host) => !isThirdPartyMailServer(use, host, port) });
