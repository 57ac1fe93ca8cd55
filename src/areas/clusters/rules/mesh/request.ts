import { isNodeName } from '../requests.ts';
import { isKeyText, refusePublicKey } from './key.ts';
import { maxDirectNodes } from './peers.ts';

/** What a machine says of itself when it exchanges a registration token. */
export interface JoiningMachine {
  node: string;
  publicKey: string;
}

/** What a node says when it asks for its peers. */
export interface PeerRequest {
  publicKey: string;
  /** Of the view that it has. */
  revision: string;
  /** Keys of nodes that it reaches directly. */
  reached: string[];
}

const isObject = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null && !Array.isArray(value);

/** A field that is not known is a mistake, or a request for another release. */
const unknownField = (body: Record<string, unknown>, known: readonly string[]): string | undefined => {
  const field = Object.keys(body).find((name) => !known.includes(name));
  return field === undefined ? undefined : `${field.slice(0, 60)} is not known here; send ${known.join(', ')}`;
};

/** A sentence: it is refused. Undefined: a client of an earlier release, which says nothing. */
export function readJoiningMachine(body: unknown): JoiningMachine | string | undefined {
  if (body === undefined) return undefined;
  if (!isObject(body)) return 'the body is no JSON object; send node and wireguardPublicKey, or nothing';
  const { node, wireguardPublicKey } = body;
  if (node === undefined && wireguardPublicKey === undefined && Object.keys(body).length === 0) return undefined;
  const strange = unknownField(body, ['node', 'wireguardPublicKey']);
  if (strange) return strange;
  if (node === undefined || wireguardPublicKey === undefined) return 'node and wireguardPublicKey belong together; send both, or neither';
  if (typeof node !== 'string' || !isNodeName(node))
    return 'node is no name of a node; send lower case letters, digits, dots and hyphens, at most 253, as kubeadm --node-name takes them';
  return refusePublicKey(wireguardPublicKey) ?? { node, publicKey: wireguardPublicKey as string };
}

/** A sentence: it is refused. */
export function readPeerRequest(body: unknown): PeerRequest | string {
  if (!isObject(body)) return 'the body is no JSON object; send wireguardPublicKey, and revision and reached if there are some';
  const { wireguardPublicKey, revision = '', reached = [] } = body;
  const strange = unknownField(body, ['wireguardPublicKey', 'revision', 'reached']);
  if (strange) return strange;
  const why = refusePublicKey(wireguardPublicKey);
  if (why) return why;
  if (typeof revision !== 'string' || revision.length > 64)
    return 'revision is no text of at most 64 characters; send it as it was answered';
  if (!Array.isArray(reached) || reached.length > maxDirectNodes)
    return `reached is no list of at most ${maxDirectNodes} keys; send those of peers with a handshake within three minutes`;
  if (!reached.every(isKeyText)) return 'reached: a key is not 32 bytes in base64; send what `wg show` prints';
  return { publicKey: wireguardPublicKey as string, revision, reached: [...new Set(reached)].sort() };
}
