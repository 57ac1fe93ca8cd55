import { makeInFlight } from '../../../engine/in-flight.ts';
import type { LeasedRecipient } from './types.ts';

const maxInlineBytes = 32 * 2 ** 20;

/** Recipients leased by this process, and the memory their messages use. */
export const makeInFlightRecipients = (maxItems: number) =>
  makeInFlight<LeasedRecipient>({
    maxItems,
    bytes: { maxTotal: maxInlineBytes, maxPerItem: maxInlineBytes },
    orgOf: ({ org }) => org,
    bytesOf: ({ inline }) => inline,
    withoutBytes: ({ inline: _, ...bare }) => bare,
  });
