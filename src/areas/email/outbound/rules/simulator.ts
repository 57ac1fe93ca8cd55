import { domainOf, foldAddress } from '../../rules/envelope.ts';

/** Mail to this domain has simulated outcomes: no network, no suppression, no effect on the automatic pause. */
const simulatorDomain = 'simulator.invalid';

const scenarios = ['delivered', 'bounced', 'deferred', 'complained', 'suppressed'] as const;
export type Scenario = (typeof scenarios)[number];

export const isSimulated = (address: string): boolean => domainOf(foldAddress(address)) === simulatorDomain;

/** The scenario of `bounced@simulator.invalid`, also with a `+tag`. Unknown names bounce. Undefined: not a simulator address. */
export function scenarioOf(address: string): Scenario | undefined {
  if (!isSimulated(address)) return undefined;
  const name = foldAddress(address)
    .slice(0, -simulatorDomain.length - 1)
    .split('+')[0];
  return scenarios.find((story) => story === name) ?? 'bounced';
}
