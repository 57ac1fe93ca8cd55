import type { Shown, Target } from './hidden.ts';

// How a monitor's whole target stands in its row: sealed, for that row alone.

interface Seals {
  seal(text: string, place: string): Buffer;
}

interface Unseals {
  unseal(sealed: Buffer, place: string): string;
}

const placeOf = (monitorId: string) => `uptime.monitor.sealed.${monitorId}`;

export const sealTarget = ({ seal }: Seals, monitorId: string, target: Target | Shown): Buffer =>
  seal(JSON.stringify(target), placeOf(monitorId));

export interface SealedRow {
  id: string;
  target: Shown;
  sealed: Buffer | null;
}

/** The whole target, or undefined: its seal is damaged, or the key that made it is not here (yet). Nobody else need wait for that. */
export function openedTarget(secrets: Unseals, row: SealedRow): Target | undefined {
  try {
    return openTarget(secrets, row);
  } catch {
    return undefined;
  }
}

/** The whole target. What an earlier release wrote is not sealed yet: there, what is stored is whole. */
export const openTarget = ({ unseal }: Unseals, { id, target, sealed }: SealedRow): Target =>
  sealed === null ? (target as Target) : (JSON.parse(unseal(sealed, placeOf(id))) as Target);
