import { keepHoldings } from '../holdings.ts';
import type { Born } from './index.ts';

const mostBytes = 32 * 2 ** 20;

/** Recipients that this process sends to. */
export const makeHoldings = (most: number) =>
  keepHoldings<Born>({
    most,
    bytes: { most: mostBytes, each: mostBytes },
    orgOf: ({ org }) => org,
    bytesOf: ({ inline }) => inline,
    withoutBytes: ({ inline: _, ...bare }) => bare,
  });
