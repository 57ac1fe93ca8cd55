/** Stored, and on its way; or what was stored before under the same Idempotency-Key. */
export const accepted = <B>(body: B, replayed: boolean) => ({
  status: 202 as const,
  body,
  ...(replayed ? { replayed: true as const } : {}),
});
