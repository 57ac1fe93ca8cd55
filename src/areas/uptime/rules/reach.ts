/** What a caller holds a permission for: everything, or these ids of monitors and services. */
export type Held = '*' | ReadonlySet<string> | undefined;

/** A monitor is reached by its own id or by its service's. */
export const reachesMonitor = (held: Held, { id, service_id }: { id: string; service_id: string | null }): boolean =>
  held === '*' || Boolean(held?.has(id)) || (service_id !== null && Boolean(held?.has(service_id)));
