import { type Guard, type GuardOptions, isForeignMailServer, makeGuard } from '../../../kernel/guard/index.ts';

/** The prober's way out. The server refuses targets on the mail port; where a redirect leads nobody has told it. */
export const proberGuard = (options: GuardOptions): Guard =>
  makeGuard({ ...options, allowPort: (use, port, host) => !isForeignMailServer(use, host, port) });
