import type { IncomingMessage, ServerResponse } from 'node:http';
import type { CertificateIdentity } from '../../../../drivers/driver.ts';
import type { RunningMesh } from './index.ts';

/** The cluster at whose listener a node asks. */
export interface AskedCluster {
  id: string;
  org: string;
  mesh: RunningMesh | undefined;
}

/** Where nodes ask for their peers, beside the cluster's API; implemented by planes/mesh. */
export interface MeshDoor {
  owns(request: IncomingMessage): boolean;
  answer(cluster: AskedCluster, request: IncomingMessage, response: ServerResponse, identity: CertificateIdentity | undefined): void;
}
