// Unexpected exceptions of the whole process: those in handlers, which `guarded` catches, and those that end the process.

export type FaultKind = 'handler' | 'uncaught';

export interface Fault {
  kind: FaultKind;
  /** The name of the handler, or the process event. */
  name: string;
  error: unknown;
}

type Observer = (fault: Fault) => void;

const observers = new Set<Observer>();
const counts = new Map<string, { kind: FaultKind; name: string; count: number }>();
/** Names are constants in the sources, so there are few; this bounds a mistake. */
const maxNames = 200;

export function reportFault(fault: Fault): void {
  const key = `${fault.kind} ${fault.name}`;
  const known = counts.get(key);
  if (known) known.count++;
  else if (counts.size < maxNames) counts.set(key, { kind: fault.kind, name: fault.name, count: 1 });
  for (const observe of observers) observe(fault);
}

/** Returns a function that removes the observer. */
export function observeFaults(observe: Observer): () => void {
  observers.add(observe);
  return () => void observers.delete(observe);
}

/** Since the start of this process. */
export const faultCounts = () => [...counts.values()];
