import type { PublicTarget, Target } from './masked-target.ts';

// How a monitor's whole target is stored in its row: sealed, and valid for that row alone.

interface Seals {
  seal(text: string, place: string): Buffer;
}

interface Unseals {
  unseal(sealed: Buffer, place: string): string;
}

const sealContext = (monitorId: string) => `uptime.monitor.sealed.${monitorId}`;

export const sealTarget = ({ seal }: Seals, monitorId: string, target: Target | PublicTarget): Buffer =>
  seal(JSON.stringify(target), sealContext(monitorId));

export interface SealedRow {
  id: string;
  target: PublicTarget;
  sealed: Buffer | null;
}

/** The whole target. Undefined: the seal is damaged, or its key is not here (yet). Other monitors are not affected. */
export function openedTarget(secrets: Unseals, row: SealedRow): Target | undefined {
  try {
    return openTarget(secrets, row);
  } catch {
    return undefined;
  }
}

/** The whole target. A row that an earlier release wrote is not sealed yet: its `target` column is whole. */
export const openTarget = ({ unseal }: Unseals, { id, target, sealed }: SealedRow): Target =>
  sealed === null ? (target as Target) : (JSON.parse(unseal(sealed, sealContext(id))) as Target);
