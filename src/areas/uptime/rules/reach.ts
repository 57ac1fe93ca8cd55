/** The monitors and services that a caller's permission covers: all, or these ids. */
export type Reach = '*' | ReadonlySet<string> | undefined;

/** A monitor is reached by its own id or by its service's. */
export const reachesMonitor = (held: Reach, { id, service_id }: { id: string; service_id: string | null }): boolean =>
  held === '*' || Boolean(held?.has(id)) || (service_id !== null && Boolean(held?.has(service_id)));
