import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import type { Caller } from '../../../../../test/harness/index.ts';
import { eventually } from '../../../../../test/harness/process.ts';
import { adminOf, joinNode, type KubeAnswer, kube, readyCluster, type Way } from '../support.ts';

/** As `wg pubkey` prints one. */
export const newPublicKey = (): string =>
  Buffer.from(generateKeyPairSync('x25519').publicKey.export({ format: 'jwk' }).x!, 'base64url').toString('base64');

export interface Exchange {
  status: number;
  // biome-ignore lint/suspicious/noExplicitAny: an answer, or a refusal
  body: any;
}

export interface Meshed {
  admin: Way;
  /** Exchanges the cluster's registration token. */
  exchange(body?: unknown): Promise<Exchange>;
  /** A node that is in the mesh. */
  join(node: string, publicKey?: string): Promise<MeshedNode>;
}

export interface MeshedNode {
  way: Way;
  publicKey: string;
  address: string;
}

/** A cluster whose mesh is on, and a registration token of it. */
export async function meshedCluster({ owner, url }: { owner: Caller; url: string }, name = 'prod'): Promise<Meshed> {
  await readyCluster(owner, { name, mesh: true });
  const admin = await adminOf(owner, name);
  const { token } = (await owner.post(`/clusters/${name}/registration-tokens`, { name: 'pool' })).body;
  const exchange = async (body?: unknown): Promise<Exchange> => {
    const answer = await fetch(`${url}/join/v1`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    });
    return { status: answer.status, body: await answer.json() };
  };
  return {
    admin,
    exchange,
    async join(node, publicKey = newPublicKey()) {
      // The interface may not be there yet; until then nodes join without it.
      const given = (await eventually(async () => {
        const { status, body } = await exchange({ node, wireguardPublicKey: publicKey });
        assert.equal(status, 201, JSON.stringify(body));
        return body.mesh ? body : false;
      })) as Exchange['body'];
      const { way } = await joinNode(admin, given.joinToken, node);
      return { way, publicKey, address: given.mesh.address };
    },
  };
}

/** A node asks for its peers. */
export const askPeers = ({ way, publicKey }: Pick<MeshedNode, 'way' | 'publicKey'>, more: object = {}): Promise<KubeAnswer> =>
  kube(way, 'POST', '/quarterdeck/mesh/v1', { wireguardPublicKey: publicKey, ...more });
