// A process of its own, with little priority: what it costs is what the server does for it, not the cores that it takes itself. Nobody
// imports it, since whoever did would have as little.
import { setPriority } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Attack, attacks, type Target } from './attacks.ts';

setPriority(19);

async function attack(which: string[], target: Target): Promise<never> {
  const forever = async (act: Attack) => {
    for (;;) await act(target).catch(() => sleep(20));
  };
  await Promise.all(which.flatMap((name) => Array.from({ length: 4 }, () => forever(attacks[name]!))));
  throw new Error('an attack has no end of its own');
}

process.once('message', ({ which, target }: { which: string[]; target: Target }) => void attack(which, target));
process.once('disconnect', () => process.exit());
