import type { ProcessPlane } from './state.ts';

/** What apiservers reach for a tenant goes this way. */
export const openEgress = async (_plane: ProcessPlane): Promise<{ stop(): Promise<void> } | undefined> => undefined;
