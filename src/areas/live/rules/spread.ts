/** So many clients may do the same within a second. */
const clientsPerSecond = 100;
const maxSpreadMs = 30_000;

/** Over which time so many clients are spread, so that they do not all ask at once. */
export const spreadMs = (clients: number): number => Math.min(maxSpreadMs, Math.round((clients / clientsPerSecond) * 1000));

/** When one of them comes back: within the first second, or later if they are many. */
export const comeBackMs = (clients: number, random: number): number => 500 + Math.round(random * Math.max(500, spreadMs(clients)));
