import { createHash } from 'node:crypto';
import { meshBits } from './network.ts';

// Who is told of whom. Traffic between two nodes goes through the control plane, which both reach from behind any NAT, until each has said that
// it reaches the other one directly.

export interface MeshNode {
  node: string;
  address: string;
  publicKey: string;
  /** Where the control plane sees it; undefined: it did not yet. */
  endpoint: string | undefined;
  /** Keys of nodes that it reaches directly. */
  reached: readonly string[];
}

/** The control plane's side of a mesh. */
export interface MeshHub {
  network: string;
  publicKey: string;
  /** host:port */
  endpoint: string;
}

export interface MeshPeer {
  publicKey: string;
  endpoint?: string;
  /** Empty: it is only tried whether it is reached directly. */
  allowedIps: string[];
}

export interface MeshView {
  /** With the length of the network's prefix, as an interface has it. */
  address: string;
  peers: MeshPeer[];
  /** Names this view: a view that was changed has another one. */
  revision: string;
}

/** Beyond this number of nodes all traffic between nodes goes through the control plane: each direct peer costs a keepalive of every other one. */
export const maxDirectNodes = 100;
/** So that a NAT keeps the mapping. */
export const keepaliveSeconds = 25;

/** The mesh as one node sees it. Undefined: the node is not in it. */
export function viewOf(name: string, hub: MeshHub, nodes: readonly MeshNode[]): MeshView | undefined {
  const self = nodes.find(({ node }) => node === name);
  if (!self) return undefined;
  const others = nodes.length > maxDirectNodes ? [] : nodes.filter((each) => each !== self && each.endpoint !== undefined);
  const isDirect = (other: MeshNode) => self.reached.includes(other.publicKey) && other.reached.includes(self.publicKey);
  const peers: MeshPeer[] = [
    { publicKey: hub.publicKey, endpoint: hub.endpoint, allowedIps: [hub.network] },
    ...others
      .sort((a, b) => (a.node < b.node ? -1 : 1))
      .map((other) => ({
        publicKey: other.publicKey,
        endpoint: other.endpoint!,
        allowedIps: isDirect(other) ? [`${other.address}/32`] : [],
      })),
  ];
  const address = `${self.address}/${meshBits}`;
  const revision = createHash('sha256')
    .update(JSON.stringify([address, peers]))
    .digest('hex')
    .slice(0, 16);
  return { address, peers, revision };
}

const section = (fields: Record<string, string | undefined>, name = 'Peer') =>
  [`[${name}]`, ...Object.entries(fields).flatMap(([key, value]) => (value ? [`${key} = ${value}`] : [])), ''].join('\n');

/** For the node's script: the peers as `wg syncconf` reads them, below two comments. */
export const viewText = ({ address, peers, revision }: MeshView): string =>
  [
    `# revision ${revision}`,
    `# address ${address}`,
    ...peers.map(({ publicKey, endpoint, allowedIps }) =>
      section({
        PublicKey: publicKey,
        Endpoint: endpoint,
        AllowedIPs: allowedIps.join(', '),
        PersistentKeepalive: String(keepaliveSeconds),
      }),
    ),
  ].join('\n');

/** The control plane's own configuration. Each node may send from its address alone. */
export const hubConfig = ({ privateKey, port }: { privateKey: string; port: number }, nodes: readonly MeshNode[]): string =>
  [
    section({ PrivateKey: privateKey, ListenPort: String(port) }, 'Interface'),
    ...nodes.map(({ publicKey, address }) => section({ PublicKey: publicKey, AllowedIPs: `${address}/32` })),
  ].join('\n');

/** A peer as the control plane's interface shows it. */
export interface SeenPeer {
  publicKey: string;
  endpoint: string | undefined;
  /** Seconds since 1970; 0: never. */
  handshakeAt: number;
  received: number;
  sent: number;
}

/** Reads `wg show … dump`: the interface, then a line for each peer. */
export const readDump = (text: string): SeenPeer[] =>
  text
    .split('\n')
    .slice(1)
    .filter((line) => line !== '')
    .map((line) => {
      const [publicKey = '', , endpoint, , handshakeAt, received, sent] = line.split('\t');
      return {
        publicKey,
        endpoint: endpoint === '(none)' ? undefined : endpoint,
        handshakeAt: Number(handshakeAt),
        received: Number(received),
        sent: Number(sent),
      };
    });
