/** Requests the operator's heartbeat address. The SSRF guard is only for addresses that users give. */
export async function sendHeartbeat(url: string, signal: AbortSignal): Promise<void> {
  const answer = await fetch(url, { signal: AbortSignal.any([signal, AbortSignal.timeout(10_000)]), redirect: 'follow' });
  await answer.body?.cancel();
  if (!answer.ok) throw new Error(`the heartbeat address answered ${answer.status}; check QUARTERDECK_HEARTBEAT_URL`);
}
