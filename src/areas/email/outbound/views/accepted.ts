/** A 202, or a replay of the earlier answer for the same Idempotency-Key. */
export const accepted = <B>(body: B, replayed: boolean) => ({
  status: 202 as const,
  body,
  ...(replayed ? { replayed: true as const } : {}),
});
