// Parses untrusted DER. Every length is checked against the available bytes before it is used.

/** One DER value. */
export interface DerNode {
  tag: number;
  content: Buffer;
  /** With its tag and length. */
  whole: Buffer;
}

export class NotDer extends Error {}

export const tags = { bits: 0x03, sequence: 0x30, set: 0x31 };

export function readNode(bytes: Buffer, at = 0): DerNode {
  const tag = bytes[at];
  let length = bytes[at + 1];
  if (tag === undefined || length === undefined || (tag & 31) === 31) throw new NotDer('a value has no tag or length');
  let head = 2;
  if (length > 0x80) {
    const size = length & 0x7f;
    if (size > 3 || at + 2 + size > bytes.length) throw new NotDer('a length is too long');
    length = bytes.readUIntBE(at + 2, size);
    head += size;
  } else if (length === 0x80) throw new NotDer('a length is indefinite');
  if (at + head + length > bytes.length) throw new NotDer('it ends early');
  return { tag, content: bytes.subarray(at + head, at + head + length), whole: bytes.subarray(at, at + head + length) };
}

const maxNodes = 200;

export function readNodes(bytes: Buffer): DerNode[] {
  const nodes: DerNode[] = [];
  for (let at = 0; at < bytes.length; at += nodes.at(-1)!.whole.length) {
    if (nodes.length >= maxNodes) throw new NotDer('it has too many parts');
    nodes.push(readNode(bytes, at));
  }
  return nodes;
}

/** The parts of a value of this kind. */
export function readParts(node: DerNode | undefined, tag: number): DerNode[] {
  if (node?.tag !== tag) throw new NotDer('a part is missing or of another kind');
  return readNodes(node.content);
}
