import { domainOf, foldAddress } from './envelope.ts';

/** Addresses of which the whole story is told without the network: nobody is judged or suppressed for them. */
const simulatorDomain = 'simulator.invalid';

const stories = ['delivered', 'bounced', 'deferred', 'complained', 'suppressed'] as const;
export type Story = (typeof stories)[number];

export const isSimulated = (address: string): boolean => domainOf(foldAddress(address)) === simulatorDomain;

/** `bounced@simulator.invalid`, also with a `+tag`. Whoever is not known there bounces; undefined: it is no address of the simulator. */
export function storyOf(address: string): Story | undefined {
  if (!isSimulated(address)) return undefined;
  const name = foldAddress(address)
    .slice(0, -simulatorDomain.length - 1)
    .split('+')[0];
  return stories.find((story) => story === name) ?? 'bounced';
}
