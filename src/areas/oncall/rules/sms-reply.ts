/** A parsed reply. */
export type Reply = { act: 'acknowledge' | 'resolve'; code?: string } | { act: 'stop' } | { act: 'start' } | { act: 'unclear' };

const stopWords = ['stop', 'stopall', 'unsubscribe', 'cancel', 'end', 'quit'];
const startWords = ['start', 'unstop', 'yes'];

/** `a`, `ack`, `1234a`, `1234 ack`, and the same with r or resolve. STOP and START are the provider's keywords. */
export function readReply(text: string): Reply {
  const words = text.trim().toLowerCase();
  if (stopWords.includes(words)) return { act: 'stop' };
  if (startWords.includes(words)) return { act: 'start' };
  const m = /^(\d{4})?\s*(a|ack|acknowledge|r|res|resolve)[.!]?$/.exec(words);
  if (!m) return { act: 'unclear' };
  return { act: m[2]!.startsWith('a') ? 'acknowledge' : 'resolve', ...(m[1] ? { code: m[1] } : {}) };
}
