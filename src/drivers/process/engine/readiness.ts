import { dialServer, responseHead, type Target } from '../clients/dial.ts';

/** Whether an apiserver answers at all, and whether it reports ready. */
export async function probeReady(target: Target, withinMs: number, stopped?: AbortSignal): Promise<{ isThere: boolean; isReady: boolean }> {
  const asked = dialServer(target, {
    method: 'GET',
    path: '/readyz',
    headers: {},
    credential: 'admin' as const,
    signal: AbortSignal.any([AbortSignal.timeout(withinMs), ...(stopped ? [stopped] : [])]),
  });
  asked.on('error', () => {});
  asked.end();
  try {
    const answer = await responseHead(asked);
    answer.on('error', () => {});
    answer.resume();
    return { isThere: true, isReady: answer.statusCode === 200 };
  } catch {
    return { isThere: false, isReady: false };
  }
}
