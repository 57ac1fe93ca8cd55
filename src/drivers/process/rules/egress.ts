/** `node-1:10250`, `10.0.0.7:10250` or `[2001:db8::7]:443`; undefined for anything else. */
export function readConnectTarget(text: string): { host: string; port: number } | undefined {
  const m = /^(?:\[([0-9a-fA-F:.]{2,45})\]|([^:[\]\s]{1,255})):(\d{1,5})$/.exec(text);
  const port = Number(m?.[3]);
  return m && port >= 1 && port <= 65_535 ? { host: m[1] ?? m[2]!, port } : undefined;
}

/** A sentence for the status line: it is the only part of a refusal that an apiserver shows to its caller. */
export const phraseOf = (sentence: string): string =>
  sentence
    .replaceAll(/[^\x20-\x7e]+/g, ' ')
    .slice(0, 300)
    .trim();
